import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createGateRoutes } from '../../../functions/gate/handler.ts';
import { createKeyRoutes } from '../../../functions/keys/handler.ts';
import { createPlanRoutes } from '../../../functions/plans/handler.ts';
import { createUsageRoutes } from '../../../functions/usage/handler.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { findWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { testDatabase } from '../../support/postgres.ts';
import { freePort } from '../../support/servers.ts';
import { testEnvironments } from '../environments.ts';

const project = '/api/v1/projects/shop';
const main = join(import.meta.dirname, '../../../gate/authz/main.ts');

/** The checker's process, as its pod runs it. */
async function startChecker(t: Test, url: string, name: string) {
  const [port, adminPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [main], {
    env: { DATABASE_URL: url, PORT: String(port), ADMIN_PORT: String(adminPort), POD_NAME: name },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return {
    authorize: (app: string, key: string) =>
      fetch(`http://127.0.0.1:${port}/authorize?app=${app}`, { headers: { 'X-API-Key': key } }),
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

t.test('checkers apply the changes that the API reports as applied', async (t) => {
  const { pool, url } = await testDatabase(t);
  const environments = testEnvironments();
  const keys = { pool, clock: systemClock, ...environments };
  const api = await testApi(t, {
    routes: [
      ...createGateRoutes({ pool, clock: systemClock }),
      ...createPlanRoutes({ pool, ...environments }),
      ...createKeyRoutes({ ...keys, findGated: (namespace, name) => findWorkload(pool, namespace, name) }),
      ...createUsageRoutes(keys),
    ],
  });
  const app = newId();
  await pool.query(
    `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name, gated)
     VALUES ($1, 'App', $2, 'shop', 'prod', 'shop-prod', 'api', true)`,
    [app, environments.all[0]?.environmentId],
  );
  const checkers = await Promise.all(['svc-authz-a', 'svc-authz-b'].map((name) => startChecker(t, url, name)));

  /** Makes a change, and waits until both checkers have it. */
  const change = async (method: string, path: string, body?: unknown) => {
    const answer = await api.call(method, `${project}${path}`, body === undefined ? {} : { body });
    t.ok(answer.status < 300, answer.text);
    const { version } = answer.body.change as { version: number };
    const followed = await api.call('GET', `/api/v1/gate/changes/${version}?wait=30`);
    t.match(followed.body, {
      version,
      total: 2,
      applied: 2,
      replicas: [
        { name: 'svc-authz-a', applied: true, afterMs: Number },
        { name: 'svc-authz-b', applied: true, afterMs: Number },
      ],
    });
    return answer.body;
  };
  const verdicts = async (key: string) =>
    Promise.all(checkers.map(async ({ authorize }) => (await authorize(app, key)).status));

  // They count once they have loaded.
  let status = await api.call('GET', '/api/v1/gate/status');
  while (status.body.replicas.filter((replica: { state: string }) => replica.state === 'current').length < 2) {
    status = await api.call('GET', '/api/v1/gate/status');
  }

  while (!status.body.replicas.every((replica: { sharesRates?: boolean }) => replica.sharesRates)) {
    status = await api.call('GET', '/api/v1/gate/status');
  }

  const quota = { limit: 4, period: 'month' };
  await change('POST', '/plans', { name: 'small', requestsPerSecond: 1000, burst: 1000, quota });
  const old = await change('POST', '/api-keys', { plan: 'small' });
  t.same(await verdicts(old.key), [200, 200]);
  await change('PATCH', `/api-keys/${old.id}`, { enabled: false });
  t.same(await verdicts(old.key), [401, 401]);
  await change('PATCH', `/api-keys/${old.id}`, { enabled: true, allowedCidrs: ['192.0.2.0/24'] });
  t.same(await verdicts(old.key), [401, 401], 'from another address');
  await change('PATCH', `/api-keys/${old.id}`, { allowedCidrs: null });
  t.same(await verdicts(old.key), [200, 200]);

  const rotated = await change('POST', `/api-keys/${old.id}/rotate`, { graceSeconds: 0 });
  t.same(await verdicts(old.key), [401, 401]);
  t.same(await verdicts(rotated.key), [200, 200]);
  await change('PATCH', '/plans/small', { quota: { limit: 1, period: 'day' } });
  t.same(await verdicts(rotated.key), [429, 429]);
  await change('DELETE', `/api-keys/${rotated.id}`);
  t.same(await verdicts(rotated.key), [401, 401]);

  // Their counts are written at the latest when they end, and then no replica is left.
  await Promise.all(checkers.map(({ stop }) => stop()));
  const usage = await api.call('GET', `${project}/api-keys/${old.id}/usage`);
  t.match(usage.body.totals, { allowed: 4, rateDenied: 0, quotaDenied: 0 });
  t.match((await api.call('GET', `${project}/api-keys/${old.id}`)).body.usage, { allowed: 4, lastSeen: /^\d{4}-/ });
  t.same((await api.call('GET', '/api/v1/gate/status')).body.replicas, []);
});
