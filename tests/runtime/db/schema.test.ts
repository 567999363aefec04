import t from 'tap';
import { acceptanceArguments } from '../../../runtime/records/acceptance.ts';
import { testDatabase } from '../../support/postgres.ts';

t.test('every foreign key has an index that begins with its columns', async (t) => {
  const { pool } = await testDatabase(t);
  // An index of the rows that have a reference serves a foreign key as well.
  const { rows } = await pool.query<{ key: string; indexed: boolean }>(
    `SELECT conrelid::regclass || '.' || conname AS key, EXISTS (
       SELECT FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indisvalid
         AND (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey
         AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = (
           SELECT format('(%I IS NOT NULL)', attname) FROM pg_attribute
           WHERE attrelid = c.conrelid AND attnum = c.conkey[1]))) AS indexed
     FROM pg_constraint c WHERE contype = 'f' ORDER BY 1`,
  );
  t.ok(rows.length > 15);
  t.same(
    rows.filter(({ indexed }) => !indexed).map(({ key }) => key),
    [],
  );
});

t.test('accept_deployment has the arguments that the code passes', async (t) => {
  const { pool } = await testDatabase(t);
  const { rows } = await pool.query<{ name: string; type: string }>(
    `SELECT name, format_type(type, NULL) AS type
     FROM pg_proc, unnest(proargnames, proargtypes::oid[]) AS argument (name, type) WHERE proname = 'accept_deployment'`,
  );
  t.same(Object.fromEntries(rows.map(({ name, type }) => [name, type])), acceptanceArguments);
});
