import t from 'tap';
import { newId } from '../../../runtime/domain/ids.ts';
import { findReceivers } from '../../../runtime/records/webhooks.ts';
import { testDatabase } from '../../support/postgres.ts';

interface PlanNode {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  Plans?: PlanNode[];
}

/** How many workloads a plan read. */
function workloadsRead(node: PlanNode): number {
  const own =
    node['Relation Name'] === 'workloads'
      ? node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0))
      : 0;
  return own + (node.Plans ?? []).reduce((sum, plan) => sum + workloadsRead(plan), 0);
}

t.test('a lookup reads the apps that it is asked for, also with a plan from a time when there were few', async (t) => {
  const { pool } = await testDatabase(t);
  const client = await pool.connect();
  t.teardown(() => client.release(true));
  await client.query(`ALTER TABLE workloads SET (autovacuum_enabled = false)`);
  // As in the pool of webhooks.
  await client.query('SET plan_cache_mode = force_generic_plan');
  const names = [
    { namespace: 'shop-prod', app: 'a7' },
    { namespace: 'shop-prod', app: 'missing' },
    { namespace: 'blog-prod', app: 'a7' },
  ];
  t.same(await findReceivers(client, names), [undefined, undefined, undefined]);
  await client.query(
    `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name, gated)
     SELECT gen_random_uuid(), 'App', $1, 'shop', 'prod', 'shop-prod', 'a' || number, false FROM generate_series(1, 2000) AS number`,
    [newId()],
  );
  const [first, ...others] = await findReceivers(client, names);
  t.match(first, { project: 'shop', image: null, gitBranch: null, webhook: undefined });
  t.same(others, [undefined, undefined]);
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE "find-receivers" ('{shop-prod,shop-prod,blog-prod}', '{a7,missing,a7}')`,
  );
  const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
  t.ok(plan && workloadsRead(plan.Plan) <= 3, JSON.stringify(plan));
});
