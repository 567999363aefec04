import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { migrationNames } from '../../../runtime/db/migrate.ts';
import type { Deployment } from '../../../runtime/records/deployments.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';
import { testDatabase } from '../../support/postgres.ts';
import { testRedis } from '../../support/redis.ts';
import { serveApps } from './app-api-server.ts';
import { testApp, type TestApp } from './rollout-world.ts';

const root = join(import.meta.dirname, '../../..');
const failpoints = [
  'rollout.before-apply',
  'rollout.applied',
  'rollout.recorded',
  'rollout.before-end',
  'rollout.ended',
] as const;

interface WorkerProcess {
  child: ChildProcess;
  /** Resolves with the exit code or the signal that ended it. */
  ended: Promise<number | string | null>;
  /** Resolves when it has logged this message; it starts listening at the call. */
  logged: (msg: string) => Promise<void>;
  lines: string[];
}

/** Stands in for the App controller and its pods: every release serves at once. */
function pretendPodsServe(t: Test, kube: FakeKube): void {
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const follow = async () => {
    for await (const { object } of kube.watch<App>(kinds.App, { resourceVersion: '0' }, stop.signal)) {
      const app = await kube.get<App>(kinds.App, object.metadata.name, object.metadata.namespace);
      const release = app?.spec.release;
      if (!app || !release || app.status?.release?.generation === release.generation) continue;
      const { generation, deploymentId } = release;
      const status = { release: { generation, deploymentId, phase: 'available' as const } };
      // A conflict means that there is a newer state, which comes next.
      await kube.replaceStatus<App>({ ...app, status }).catch(() => undefined);
    }
  };
  void follow();
}

/** Waits for the newest deployment's end. */
async function untilEnded(app: TestApp): Promise<Deployment[]> {
  for (;;) {
    const entries = await app.history();
    if (entries[0]?.endedAt) return entries;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** PostgreSQL, Redis and Kubernetes as svc-workers sees them, and svc-workers as a process of its own. */
async function world(t: Test) {
  const [database, redis] = await Promise.all([testDatabase(t), testRedis(t)]);
  const { pool } = database;
  await pool.query('CREATE TABLE pgmigrations (name text)');
  await pool.query('INSERT INTO pgmigrations SELECT unnest($1::text[])', [await migrationNames()]);
  const kube = fakeKube();
  const kubeconfig = await serveApps(t, kube);
  const failpointsDir = join(dirname(kubeconfig), 'failpoints');
  mkdirSync(failpointsDir);
  pretendPodsServe(t, kube);

  const startWorkers = (): WorkerProcess => {
    const child = spawn(process.execPath, ['workers/main.ts'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...{ PATH: process.env['PATH'], ADMIN_PORT: '0', LOG_LEVEL: 'debug', SVC_FAILPOINTS_DIR: failpointsDir },
        ...{ DATABASE_URL: database.url, REDIS_URL: redis.url, KUBECONFIG: kubeconfig },
      },
    });
    const ended = once(child, 'exit').then(([code, signal]) => (signal ?? code) as number | string | null);
    const lines: string[] = [];
    const output = createInterface({ input: child.stdout });
    output.on('line', (line) => lines.push(line));
    t.teardown(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    const logged = (msg: string) =>
      new Promise<void>((resolve) => {
        const look = (line: string) => {
          if (!line.includes(`"msg":"${msg}"`)) return;
          output.off('line', look);
          resolve();
        };
        output.on('line', look);
      });
    return { child, ended, logged, lines };
  };

  return {
    pool,
    kube,
    redis,
    startWorkers,
    arm: (name: string) => writeFileSync(join(failpointsDir, name), ''),
  };
}

t.test('killed at every step, a deployment still ends, exactly once', { timeout: 110_000 }, async (t) => {
  const { pool, kube, startWorkers, arm } = await world(t);
  const app = await testApp(pool, kube, 'api');
  let workers = startWorkers();
  for (const [index, failpoint] of failpoints.entries()) {
    arm(failpoint);
    const id = await app.accept(`r/api:${index + 1}`);
    t.equal(await workers.ended, 'SIGKILL', failpoint);
    // As if the time of the lost attempt had passed.
    await pool.query(`UPDATE work SET leased_until = now() WHERE leased_until IS NOT NULL`);
    workers = startWorkers();
    const entries = await untilEnded(app);
    t.equal(entries.length, index + 1, 'once in history');
    t.match(entries[0], { id, revision: index + 1, state: 'succeeded', current: true });
    t.match((await app.object()).spec.release, { generation: index + 1, deploymentId: id });
    for (;;) {
      const { rows } = await pool.query<{ state: string }>('SELECT state FROM work WHERE record_id = $1', [id]);
      if (rows[0]?.state === 'done') break;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
  const writes = kube.calls.filter(({ verb }) => verb === 'replace').length;
  t.equal(writes, failpoints.length, 'each release was written once');
});

t.test('two processes share the work; one is killed while many apps deploy', { timeout: 60_000 }, async (t) => {
  const { pool, kube, startWorkers, arm } = await world(t);
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

t.test('a worker that was stopped past its time cannot write over a newer release', { timeout: 60_000 }, async (t) => {
  const { pool, kube, startWorkers } = await world(t);
  const app = await testApp(pool, kube, 'api');
  const stopped = startWorkers();
  await stopped.logged('process started');
  let newer = '';
  const refused = stopped.logged('answer of a stale attempt ignored');
  const late = Promise.withResolvers<unknown>();
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace') return;
    kube.intercept = undefined;
    // Its write is on the way: it stops, its time passes, another process takes over, and a newer deployment ends.
    stopped.child.kill('SIGSTOP');
    await pool.query(`UPDATE work SET leased_until = now() WHERE leased_until IS NOT NULL`);
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

t.test('Redis goes away, comes back empty, and nothing that was accepted is lost', { timeout: 60_000 }, async (t) => {
  const { pool, kube, redis, startWorkers } = await world(t);
  const app = await testApp(pool, kube, 'api');
  const workers = startWorkers();
  await workers.logged('process started');
  await app.accept('r/api:1');
  t.match(await untilEnded(app), [{ state: 'succeeded' }]);

  const away = workers.logged('redis does not answer');
  redis.stop();
  await away;
  await app.accept('r/api:2');
  const back = workers.logged('redis answers again');
  await redis.start();
  await back;
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
  t.match(await untilEnded(app), [{ state: 'succeeded' }, { state: 'succeeded' }]);
  await app.accept('r/api:3');
  t.match(await untilEnded(app), [{ revision: 3, state: 'succeeded', current: true }, {}, {}]);
  t.equal(workers.child.exitCode, null, 'without a restart');
});

t.test('SIGTERM drains, whether Redis is there or not', { timeout: 60_000 }, async (t) => {
  const { pool, kube, redis, startWorkers } = await world(t);
  const app = await testApp(pool, kube, 'api');
  const first = startWorkers();
  await first.logged('process started');
  await app.accept('r/api:1');
  await untilEnded(app);
  first.child.kill('SIGTERM');
  t.equal(await first.ended, 0);
  t.notMatch(first.lines.join('\n'), '"level":"error"');

  const second = startWorkers();
  await second.logged('process started');
  const away = second.logged('redis does not answer');
  redis.stop();
  await away;
  second.child.kill('SIGTERM');
  t.equal(await second.ended, 0);
});
