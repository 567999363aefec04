import t from 'tap';
import { newId } from '../../../runtime/domain/ids.ts';
import { findWorkload, type WorkloadProjection } from '../../../runtime/records/workloads.ts';
import { createControllerRecords } from '../../../workers/controllers/records.ts';
import { testDatabase } from '../../support/postgres.ts';

t.test('passes that find their records unchanged share a statement, and each difference is written', async (t) => {
  const { pool } = await testDatabase(t);
  let statements = 0;
  const counting = new Proxy(pool, {
    get(target, name) {
      if (name === 'query') statements++;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const records = createControllerRecords(counting);
  const workloads = Array.from({ length: 20 }, (_, number): WorkloadProjection => ({
    id: newId(),
    kind: 'Function',
    environmentId: newId(),
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: `f${number}`,
    gated: false,
  }));
  const projectAll = (all: readonly WorkloadProjection[]) =>
    Promise.all(all.map((workload) => records.functions.project(workload)));
  await projectAll(workloads);
  t.match(await findWorkload(pool, 'shop-prod', 'f7'), workloads[7]);

  statements = 0;
  await projectAll(workloads);
  t.equal(statements, 1);
  await projectAll(workloads.map((workload, number) => ({ ...workload, gated: number === 7 })));
  t.match(await findWorkload(pool, 'shop-prod', 'f7'), { gated: true });
  t.match(await findWorkload(pool, 'shop-prod', 'f8'), { gated: false });

  const ids = workloads.map(({ id }) => id);
  const events = { type: 'postgres', source: 'db', query: 'SELECT 1 AS id' } as const;
  const source = { url: 'https://git.test/api.git', branch: 'main' };
  const [first = '', second = ''] = ids;
  await records.functions.projectEvents(first, events);
  await records.apps.projectGit(second, source);
  const rows = async () => {
    const { rows } = await pool.query<{ id: string }>(
      'SELECT workload_id AS id FROM event_sources UNION ALL SELECT workload_id FROM git_sources',
    );
    return rows.map(({ id }) => id);
  };
  t.same(await rows(), [first, second]);
  statements = 0;
  await Promise.all(ids.slice(2).map((id) => records.functions.projectEvents(id, undefined)));
  await Promise.all(ids.slice(2).map((id) => records.apps.projectGit(id, undefined)));
  t.equal(statements, 2);
  await Promise.all(ids.map((id) => records.functions.projectEvents(id, undefined)));
  await Promise.all(ids.map((id) => records.apps.projectGit(id, undefined)));
  t.same(await rows(), [], 'a removed source is deleted');
});
