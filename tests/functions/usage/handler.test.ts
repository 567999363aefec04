import t, { type Test } from 'tap';
import { createUsageRoutes } from '../../../functions/usage/handler.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { insertKey } from '../../../runtime/records/keys.ts';
import { insertPlan } from '../../../runtime/records/plans.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { testDatabase } from '../../support/postgres.ts';
import { testEnvironments } from '../environments.ts';

/** A key of shop's only environment, late on 2026-11-21; today is the last of 92 kept days, 2026-08-22 the first. */
async function rig(t: Test) {
  const { pool } = await testDatabase(t);
  const environments = testEnvironments();
  const clock = fakeClock(new Date('2026-11-21T23:59:59.999Z'));
  const api = await testApi(t, { routes: createUsageRoutes({ pool, clock, ...environments }) });
  const environmentId = environments.all[0]?.environmentId ?? '';
  const plan = await insertPlan(pool, { environmentId, name: 'p', requestsPerSecond: 1, burst: 1 });
  const record = { environmentId, planId: plan.id, name: null, scope: null, expiresAt: null, createdBy: 'a' };
  const { id, handle } = (await insertKey(pool, record)).record;
  const other = (await insertKey(pool, record)).record;
  return {
    clock,
    handle,
    other: other.id,
    path: `/api/v1/projects/shop/api-keys/${id}/usage`,
    call: (path: string, headers?: Record<string, string>) => api.call('GET', path, headers && { headers }),
    /** The counts of one process life of a checker. */
    count: (day: string, [allowed, rateDenied, quotaDenied]: [number, number, number], keyId = id) =>
      pool.query('INSERT INTO usage VALUES ($1, $2, $3, $4, $5, $6, 1)', [
        keyId,
        day,
        newId(),
        allowed,
        rateDenied,
        quotaDenied,
      ]),
  };
}

t.test('200: by day, all process lives of all checkers together, by id and by handle', async (t) => {
  const { call, path, handle, count, other } = await rig(t);
  await count('2026-11-21', [1, 2, 3]);
  await count('2026-11-21', [10, 20, 30]);
  await count('2026-11-19', [9_007_199_254, 0, 0]);
  await count('2026-11-20', [0, 0, 0]);
  await count('2026-11-20', [5, 5, 5], other);
  const { status, body } = await call(path);
  t.equal(status, 200);
  t.same(body, {
    from: '2026-08-24',
    to: '2026-11-21',
    totals: { allowed: 9_007_199_265, rateDenied: 22, quotaDenied: 33 },
    days: [
      { day: '2026-11-19', allowed: 9_007_199_254, rateDenied: 0, quotaDenied: 0 },
      { day: '2026-11-21', allowed: 11, rateDenied: 22, quotaDenied: 33 },
    ],
  });
  t.same((await call(`/api/v1/projects/shop/api-keys/${handle}/usage?environment=prod`)).body, body);
});

t.test('both ends are inclusive', async (t) => {
  const { call, path, count } = await rig(t);
  for (const day of ['2026-10-01', '2026-10-02', '2026-10-03', '2026-10-04']) await count(day, [1, 0, 0]);
  const { body } = await call(`${path}?from=2026-10-02&to=2026-10-03`);
  t.match(body, { from: '2026-10-02', to: '2026-10-03', totals: { allowed: 2 } });
  const one = await call(`${path}?from=2026-10-02&to=2026-10-02`);
  t.same(one.body.days, [{ day: '2026-10-02', allowed: 1, rateDenied: 0, quotaDenied: 0 }]);
});

t.test('a window that begins too early is shortened, and the answer says so', async (t) => {
  const { call, path, count, clock } = await rig(t);
  // Still stored, since old rows are only purged from time to time.
  await count('2026-08-21', [100, 0, 0]);
  await count('2026-08-22', [1, 0, 0]);
  const { body } = await call(`${path}?from=2020-01-01`);
  t.match(body, { from: '2026-08-22', to: '2026-11-21', totals: { allowed: 1 } });
  t.match((await call(`${path}?to=2026-08-23`)).body, { from: '2026-08-22', to: '2026-08-23', totals: { allowed: 1 } });
  clock.jump(1);
  t.match((await call(`${path}?from=2020-01-01`)).body, { from: '2026-08-23', totals: { allowed: 0 }, days: [] });
});

t.test('400, 401, 404 and 422', async (t) => {
  const { call, path } = await rig(t);
  for (const query of ['from=yesterday', 'from=2026-02-30', 'to=2026-11-21T00:00:00Z', 'from=2026-1-1']) {
    t.match(await call(`${path}?${query}`), { status: 400, body: { code: 'invalid_request' } }, query);
  }
  t.equal((await call(path, { authorization: '' })).status, 401);
  t.equal((await call(path.replace('shop', 'wide'))).status, 404);
  t.equal((await call(`/api/v1/projects/shop/api-keys/${newId()}/usage`)).status, 404);
  const reversed = await call(`${path}?from=2026-11-02&to=2026-11-01`);
  t.match(reversed, { status: 422, body: { code: 'invalid_value', details: { field: 'from' } } });
  t.equal((await call(`${path}?to=2026-08-22`)).status, 200);
  const expiredWindow = await call(`${path}?from=2026-08-01&to=2026-08-21`);
  t.match(expiredWindow, { status: 422, body: { code: 'usage_expired', details: { earliest: '2026-08-22' } } });
});
