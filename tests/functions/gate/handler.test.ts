import t, { type Test } from 'tap';
import type { Pool } from 'pg';
import { createGateRoutes } from '../../../functions/gate/handler.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { insertPlan } from '../../../runtime/records/plans.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { testDatabase } from '../../support/postgres.ts';

const changes = '/api/v1/gate/changes';

async function rig(t: Test) {
  const { pool } = await testDatabase(t);
  const clock = fakeClock();
  const api = await testApi(t, { routes: createGateRoutes({ pool, clock }) });
  return {
    pool,
    clock,
    call: (path: string, headers?: Record<string, string>) => api.call('GET', path, headers && { headers }),
    /** Makes a change; resolves to its version. */
    change: async () => {
      await insertPlan(pool, { environmentId: newId(), name: 'p', requestsPerSecond: 1, burst: 1 });
      const { rows } = await pool.query<{ version: number }>('SELECT version::integer AS version FROM feed_head');
      return rows[0]?.version ?? 0;
    },
    /** A checker that reported `secondsAgo`. */
    replica: (name: string, applied: number | null, secondsAgo = 0, closed = false) =>
      pool.query(
        `INSERT INTO gate_replicas (incarnation, name, feed_id, applied_version, applied_at, seen_at, closed_at)
         SELECT $1, $2, feed_id, $3, (SELECT at FROM changes WHERE version = $3) + interval '400 ms',
           now() - $4 * interval '1 second', CASE WHEN $5 THEN now() END
         FROM feed_head`,
        [newId(), name, applied, secondsAgo, closed],
      ),
  };
}

async function apply(pool: Pool, name: string, version: number) {
  await pool.query(
    `UPDATE gate_replicas SET applied_version = $2, seen_at = now(),
       applied_at = (SELECT at FROM changes WHERE version = $2) + interval '700 ms' WHERE name = $1`,
    [name, version],
  );
}

t.test('a change is followed to every replica that may serve', async (t) => {
  const { call, change, replica } = await rig(t);
  const [before, version] = [await change(), await change()];
  await replica('b', before);
  await replica('a', version);
  await replica('ended', before, 1, true);
  await replica('long gone', before, 101);
  await replica('silent', before, 60);
  const { status, body } = await call(`${changes}/${version}`);
  t.equal(status, 200);
  t.match(body, { version, total: 3, applied: 1 });
  t.match(body.replicas, [
    { name: 'a', applied: true, live: true, afterMs: 400 },
    { name: 'b', applied: false, live: true },
    { name: 'silent', applied: false, live: false },
  ]);
  t.equal(Date.parse(body.replicas[0].appliedAt) - Date.parse(body.at), 400);
  for (const replicaView of body.replicas.slice(1)) t.notOk('appliedAt' in replicaView);
  t.match((await call(`${changes}/${before}`)).body, { version: before, total: 3, applied: 3 });
});

t.test('the answer waits until the live replicas have applied it', async (t) => {
  const { pool, clock, call, change, replica } = await rig(t);
  const [before, version] = [await change(), await change()];
  await replica('a', version);
  await replica('b', before);
  await replica('silent', before, 60);
  let answered = false;
  const answer = call(`${changes}/${version}?wait=30`).finally(() => (answered = true));
  await sleeping(clock);
  await clock.advance(100);
  await sleeping(clock);
  t.notOk(answered);
  await apply(pool, 'b', version);
  await clock.advance(100);
  const { body } = await answer;
  t.match(body, { total: 3, applied: 2, replicas: [{ name: 'a' }, { name: 'b', applied: true, afterMs: 700 }, {}] });
});

t.test('the wait times out, and the answer says what is missing', async (t) => {
  const { clock, call, change, replica } = await rig(t);
  await replica('a', null);
  const version = await change();
  const answer = call(`${changes}/${version}?wait=0.25`);
  for (const ms of [100, 100, 50]) {
    await sleeping(clock);
    await clock.advance(ms);
  }
  t.match((await answer).body, { total: 1, applied: 0, replicas: [{ name: 'a', applied: false }] });
});

t.test('the wait ends once all have it, or when there is no replica', async (t) => {
  const { call, change, replica } = await rig(t);
  const version = await change();
  t.match((await call(`${changes}/${version}?wait=30`)).body, { total: 0, applied: 0, replicas: [] });
  await replica('a', version);
  t.match((await call(`${changes}/${version}?wait=30`)).body, { total: 1, applied: 1 });
});

t.test('a replica that follows another feed has applied nothing', async (t) => {
  const { pool, call, change, replica } = await rig(t);
  const version = await change();
  await replica('a', version);
  await pool.query('UPDATE feed_head SET feed_id = gen_random_uuid()');
  t.match((await call(`${changes}/${version}`)).body, { total: 1, applied: 0 });
  t.match((await call('/api/v1/gate/status')).body.replicas, [{ name: 'a', state: 'loading' }]);
});

t.test('the delay is omitted once the replica is far past an old change', async (t) => {
  const { pool, call, change, replica } = await rig(t);
  const [version, later] = [await change(), await change()];
  await replica('a', later);
  t.match((await call(`${changes}/${version}`)).body.replicas, [{ afterMs: Number }], 'a recent one may have a delay');
  await pool.query(`UPDATE changes SET at = at - interval '1 hour' WHERE version = $1`, [version]);
  const { body } = await call(`${changes}/${version}`);
  t.match(body, { applied: 1 });
  t.notOk('afterMs' in body.replicas[0]);
});

t.test('400, 401 and 404', async (t) => {
  const { pool, call, change } = await rig(t);
  const version = await change();
  for (const path of [`${changes}/x`, `${changes}/-1`, `${changes}/1.5`, `${changes}/${version}?wait=31`]) {
    t.equal((await call(path)).status, 400, path);
  }
  t.equal((await call(`${changes}/${version}`, { authorization: '' })).status, 401);
  t.equal((await call('/api/v1/gate/status', { authorization: '' })).status, 401);
  for (const unknown of [0, version + 1]) {
    t.match(await call(`${changes}/${unknown}`), { status: 404, body: { code: 'not_found' } });
  }
  await pool.query('DELETE FROM changes');
  t.equal((await call(`${changes}/${version}`)).status, 404, 'too old');
});

t.test('the status shows the version of each replica', async (t) => {
  const { pool, call, change, replica } = await rig(t);
  const first = await change();
  await change();
  const version = await change();
  await replica('behind', first);
  await replica('current', version);
  await replica('loading', null);
  await replica('quiet', version, 60);
  await replica('ended', version, 0, true);
  await pool.query(`UPDATE gate_replicas SET shares_rates = name <> 'behind' WHERE name IN ('behind', 'current')`);
  const { body } = await call('/api/v1/gate/status');
  t.equal(body.version, version);
  t.same(
    body.replicas.map(({ sharesRates }: { sharesRates?: boolean }) => sharesRates),
    [false, true, undefined, undefined],
  );
  t.match(body.replicas, [
    { name: 'behind', state: 'behind', applied: first, behind: 2 },
    { name: 'current', state: 'current', applied: version, behind: 0 },
    { name: 'loading', state: 'loading' },
    { name: 'quiet', state: 'silent', silentSeconds: Number },
  ]);
  t.ok(body.replicas[3].silentSeconds >= 60);
  t.equal(body.replicas.length, 4);
});

/** Until the handler waits for its next look. */
async function sleeping(clock: { sleepers(): number }): Promise<void> {
  while (clock.sleepers() === 0) await new Promise((resolve) => setImmediate(resolve));
}
