import t from 'tap';
import { createHealthRoutes } from '../../../functions/health/handler.ts';
import { testApi } from '../../support/api.ts';
import { testDatabase } from '../../support/postgres.ts';

const healthyReport = {
  healthy: true,
  managerStarted: true,
  cacheSynced: true,
  controllers: [{ name: 'App', registered: true }],
};

t.test('health without a session', async (t) => {
  const { pool } = await testDatabase(t);
  const api = await testApi(t, { routes: [], rootRoutes: createHealthRoutes({ pool }) });
  const anonymous = { headers: { authorization: '' } };
  const report = (body: unknown, ageSeconds = 0) =>
    pool.query(
      `INSERT INTO controller_reports (report, reported_at) VALUES ($1, now() - make_interval(secs => $2))
       ON CONFLICT (singleton) DO UPDATE SET report = EXCLUDED.report, reported_at = EXCLUDED.reported_at`,
      [JSON.stringify(body), ageSeconds],
    );
  const controllers = () => api.call('GET', '/health/controllers', anonymous);

  t.test('200: console-api, but no metrics, which name tenants', async (t) => {
    t.same((await api.call('GET', '/health', anonymous)).body, { status: 'ok' });
    t.equal((await api.call('GET', '/metrics', anonymous)).status, 404);
  });

  t.test('503: before the first report', async (t) => {
    const answer = await controllers();
    t.equal(answer.status, 503);
    t.same(answer.body, { healthy: false, managerStarted: false, cacheSynced: false, controllers: [] });
  });

  t.test('200: everything is up', async (t) => {
    await report(healthyReport);
    const answer = await controllers();
    t.equal(answer.status, 200);
    t.same(answer.body, healthyReport);
  });

  t.test('503: an outdated report proves nothing', async (t) => {
    await report(healthyReport, 14);
    t.equal((await controllers()).status, 200);
    await report(healthyReport, 16);
    const answer = await controllers();
    t.equal(answer.status, 503);
    t.match(answer.body, { healthy: false, managerStarted: false, controllers: healthyReport.controllers });
  });

  t.test('503: starting, not synced, or a controller that failed to register', async (t) => {
    const unhealthyCases = [
      { ...healthyReport, managerStarted: false },
      { ...healthyReport, cacheSynced: false },
      { ...healthyReport, controllers: [...healthyReport.controllers, { name: 'Function', registered: false }] },
      { ...healthyReport, healthy: false },
      { unknown: 'shape' },
    ];
    for (const body of unhealthyCases) {
      await report(body);
      const answer = await controllers();
      t.equal(answer.status, 503);
      t.equal(answer.body.healthy, false);
    }
  });

  t.test('503 with a body when the database is gone', async (t) => {
    await pool.query('ALTER TABLE controller_reports RENAME TO gone');
    const answer = await controllers();
    t.equal(answer.status, 503);
    t.equal(answer.body.healthy, false);
  });

  t.end();
});
