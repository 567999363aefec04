import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { namespace, testApp } from './rollout-world.ts';
import { untilEnded, workerWorld } from './worker-world.ts';

const failpoints = [
  'relay.claimed',
  'relay.added',
  'rollout.before-apply',
  'rollout.applied',
  'rollout.recorded',
  'rollout.before-end',
  'rollout.ended',
] as const;

/**
 * How long a worker is stopped, in s: `SVC_STOPPED_SECONDS=70` exceeds the real times of its lease and BullMQ's lock.
 * By default the test ends its lease.
 */
const stoppedSeconds = Number(process.env['SVC_STOPPED_SECONDS'] ?? 0);

t.test('killed at every step, also the relay’s, a deployment still ends exactly once', async (t) => {
  const { pool, kube, startWorkers, arm } = await workerWorld(t);
  const app = await testApp(pool, kube, 'api');
  let workers = startWorkers();
  for (const [index, failpoint] of failpoints.entries()) {
    arm(failpoint);
    const env = [{ name: 'REVISION', value: `number ${index + 1}` }];
    await kube.mergePatch({ ...kinds.App, namespace, name: 'api' }, { spec: { env } });
    const id = await app.accept(`r/api:${index + 1}`);
    t.equal(await workers.ended, 'SIGKILL', failpoint);
    // Simulates that the lease of the lost attempt has expired.
    await pool.query(`UPDATE work SET leased_until = now() WHERE leased_until IS NOT NULL`);
    workers = startWorkers();
    const entries = await untilEnded(app);
    t.equal(entries.length, index + 1, 'once in history');
    t.match(entries[0], { id, revision: index + 1, state: 'succeeded', current: true });
    const { release } = (await app.object()).spec;
    t.match(release, { generation: index + 1, deploymentId: id });
    const environments = kube.all<Secret>(kinds.Secret);
    t.equal(environments.length, index + 1, 'one environment per release');
    const own = environments.find(({ metadata }) => metadata.name === release?.envSecret);
    t.equal(Buffer.from(own?.data?.['REVISION'] ?? '', 'base64').toString(), `number ${index + 1}`);
    for (;;) {
      const { rows } = await pool.query<{ state: string }>('SELECT state FROM work WHERE record_id = $1', [id]);
      if (rows[0]?.state === 'done') break;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
  const writes = kube.calls.filter(({ verb }) => verb === 'replace').length;
  t.equal(writes, failpoints.length, 'each release was written once');
});

t.test('two processes share the work; one is killed while many apps deploy', async (t) => {
  const { pool, kube, startWorkers, arm } = await workerWorld(t);
  const apps = await Promise.all(Array.from({ length: 12 }, (_, index) => testApp(pool, kube, `app-${index}`)));
  const workers = [startWorkers(), startWorkers()];
  await Promise.all(workers.map(({ logged }) => logged('process started')));
  arm('rollout.applied');
  await Promise.all(apps.flatMap((app) => ['1', '2'].map((tag) => app.accept(`r/${app.name}:${tag}`))));
  t.equal(await Promise.race(workers.map(({ ended }) => ended)), 'SIGKILL');
  await pool.query(`UPDATE work SET leased_until = now() WHERE leased_until IS NOT NULL`);
  for (const app of apps) {
    const entries = await untilEnded(app);
    t.match(entries, [{ revision: 2, state: 'succeeded', current: true }, { revision: 1 }]);
    t.equal(entries.length, 2);
    t.ok(entries[1]?.endedAt);
  }
});

t.test('a worker that was stopped past its lease cannot overwrite a newer release', async (t) => {
  const { pool, kube, startWorkers } = await workerWorld(t);
  const app = await testApp(pool, kube, 'api');
  const stopped = startWorkers();
  await stopped.logged('process started');
  let newer = '';
  const refused = stopped.logged('answer of a stale attempt ignored');
  const late = Promise.withResolvers<unknown>();
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace') return;
    kube.intercept = undefined;
    // The worker stops in the middle of its write, its lease ends, another process takes over, and a newer deployment
    // ends.
    stopped.child.kill('SIGSTOP');
    if (stoppedSeconds > 0) await wait(stoppedSeconds * 1000);
    else await pool.query(`UPDATE work SET leased_until = now() WHERE leased_until IS NOT NULL`);
    const other = startWorkers();
    await untilEnded(app);
    newer = await app.accept('r/api:2');
    await untilEnded(app);
    other.child.kill('SIGKILL');
    await other.ended;
    stopped.child.kill('SIGCONT');
    late.resolve(undefined);
  };
  const first = await app.accept('r/api:1');
  await late.promise;
  await refused;
  t.match((await app.object()).spec.release, { generation: 2, deploymentId: newer });
  t.match(await app.history(), [
    { id: newer, revision: 2, state: 'succeeded', current: true },
    { id: first, revision: 1, state: 'succeeded' },
  ]);
});
