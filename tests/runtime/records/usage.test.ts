import t from 'tap';
import { newId } from '../../../runtime/domain/ids.ts';
import { foldedIncarnation } from '../../../runtime/records/gate-replicas.ts';
import { listUsage, sumUsage } from '../../../runtime/records/usage.ts';
import { testDatabase } from '../../support/postgres.ts';

t.test('the usage of keys is read from an index, not from the pages of many days', async (t) => {
  const { pool } = await testDatabase(t);
  const client = await pool.connect();
  t.teardown(() => client.release(true));
  // VACUUM marks a page as visible to all only after the commits of its rows have been written.
  await client.query('SET synchronous_commit = on');
  const [environmentId, planId] = [newId(), newId()];
  const keyIds = Array.from({ length: 200 }, () => newId());
  await client.query(
    `INSERT INTO plans (id, environment_id, name, requests_per_second, burst) VALUES ($1, $2, 'basic', 100, 100)`,
    [planId, environmentId],
  );
  await client.query(
    `INSERT INTO api_keys (id, environment_id, handle, digest, plan_id, created_by)
     SELECT id, $2, lpad(number::text, 8, '0'), sha256(id::text::bytea), $3, 'ada@example.com'
     FROM unnest($1::uuid[]) WITH ORDINALITY AS key (id, number)`,
    [keyIds, environmentId, planId],
  );
  // In the order of time, as checkers write it.
  await client.query(
    `INSERT INTO usage (key_id, day, incarnation, allowed, rate_denied, quota_denied, version)
     SELECT key, date '2026-01-01' + day, $2::uuid, 3, 2, 1, 1 FROM generate_series(0, 91) AS day, unnest($1::uuid[]) AS key`,
    [keyIds, foldedIncarnation],
  );
  // It leaves out pages that a connection which is just being made, to any database of the server, might still see otherwise.
  const isVisible = async () => {
    await client.query('VACUUM ANALYZE usage');
    const { rows } = await client.query<{ all: boolean }>(
      `SELECT relallvisible = relpages AS all FROM pg_class WHERE oid = 'usage'::regclass`,
    );
    return rows[0]?.all === true;
  };
  while (!(await isVisible()));
  /** Rows that were read in the table. */
  const rowsRead = async () => {
    const { rows } = await client.query<{ read: number }>(
      `SELECT (seq_tup_read + COALESCE(idx_tup_fetch, 0))::integer AS read FROM pg_stat_xact_user_tables WHERE relname = 'usage'`,
    );
    return rows[0]?.read;
  };
  await client.query('BEGIN');
  const [keyId = ''] = keyIds;
  const days = await listUsage(client, keyId, { from: '2026-01-02', to: '2026-04-02' });
  t.equal(days.length, 91);
  t.same(days[0], { day: '2026-01-02', allowed: 3, rateDenied: 2, quotaDenied: 1 });
  const totals = await sumUsage(client, keyIds.slice(0, 20), '2026-01-03');
  t.equal(totals.size, 20);
  t.same(totals.get(keyId), { allowed: 270, rateDenied: 180, quotaDenied: 90, lastSeen: '2026-04-02' });
  t.equal(await rowsRead(), 0);
  await client.query('COMMIT');
});
