import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import t from 'tap';
import { newId } from '../../../runtime/domain/ids.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { watchPlatform } from '../../../workers/housekeeping/metrics.ts';
import { testDatabase } from '../../support/postgres.ts';

t.test('the gauges count apps whose deployments ended lately, and the size of the databases', async (t) => {
  const { pool } = await testDatabase(t);
  const registry = new Registry();
  watchPlatform(registry, pool);
  const app = async (name: string) => {
    const id = newId();
    const environment = { environmentId: newId(), project: 'shop', environment: 'prod', namespace: 'shop-prod' };
    await projectWorkload(pool, { id, kind: 'App', ...environment, name, gated: false });
    return id;
  };
  const ended = (id: string, revision: number, state: string, minutesAgo: number) =>
    pool.query(
      `INSERT INTO deployments (id, workload_id, revision, trigger, state, image, ended_at)
       VALUES ($1, $2, $3, 'manual', $4, 'x', now() - $5 * interval '1 minute')`,
      [newId(), id, revision, state, minutesAgo],
    );
  const [api, web] = [await app('api'), await app('web')];
  await ended(api, 1, 'failed', 1);
  await ended(api, 2, 'failed', 2);
  await ended(api, 3, 'succeeded', 0);
  await ended(web, 1, 'failed', 29);
  await ended(web, 2, 'succeeded', 31);
  await ended(web, 3, 'cancelled', 1);
  const text = await registry.metrics();
  t.match(text, 'svc_recent_deployment_apps{outcome="failed"} 2\n');
  t.match(text, 'svc_recent_deployment_apps{outcome="succeeded"} 1\n');
  t.match(text, /\nsvc_database_size_bytes \d{7,}/);
});

t.test('without the database, the gauges are empty', async (t) => {
  const registry = new Registry();
  const query = () => Promise.reject(new Error('no connection'));
  watchPlatform(registry, { query } as unknown as Pool);
  t.notMatch(await registry.metrics(), /^svc_/m);
});
