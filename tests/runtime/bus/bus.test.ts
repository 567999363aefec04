import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { createDispatcher } from '../../../runtime/bus/dispatcher.ts';
import { createJobQueue, jobId, type JobQueue } from '../../../runtime/bus/job-queue.ts';
import { createBusMetrics } from '../../../runtime/bus/metrics.ts';
import { backoff, createRunner, type Attempt, type Outcome } from '../../../runtime/bus/runner.ts';
import { beginAttempt, claimDue, recordAgain, recordDone, recordFailure } from '../../../runtime/bus/work-table.ts';
import { createListener } from '../../../runtime/db/listener.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { catalogue, type QueueDefinition, type WorkPayload } from '../../../runtime/queues/catalogue.ts';
import { insertWork } from '../../../runtime/records/work.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { startProcess } from '../../support/platform-process.ts';
import { testDatabase } from '../../support/postgres.ts';
import { testRedis } from '../../support/redis.ts';
import { hurried, lockMs } from './short-queue.ts';

const clock = systemClock;
const log = silentLog;
interface WorkRow {
  id: string;
  record_id: string;
  state: string;
  attempt: number;
  failures: number;
  last_error: string | null;
  leased_until: Date | null;
  due: boolean;
}

/** The whole bus on a real PostgreSQL and its own Redis. */
async function bus(t: Test, options: { definition?: QueueDefinition } = {}) {
  const definition = options.definition ?? hurried;
  const [{ pool, url }, redis] = await Promise.all([testDatabase(t), testRedis(t)]);
  const registry = new Registry();
  const metrics = createBusMetrics(registry);
  const rows = async () =>
    (await pool.query<WorkRow>(`SELECT *, COALESCE(leased_until, due_at) <= now() AS due FROM work ORDER BY id`)).rows;
  const changed = new Set<() => void>();

  /** Resolves once a check succeeds; it runs after every attempt. */
  const until = async (holds: (rows: WorkRow[]) => boolean): Promise<WorkRow[]> => {
    for (;;) {
      const now = await rows();
      if (holds(now)) return now;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 50);
        changed.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
      changed.clear();
    }
  };

  const startDispatcher = (queue: JobQueue = createJobQueue({ name: 'rollouts', redis, log })) => {
    const dispatcher = createDispatcher({
      pool,
      queues: [queue],
      clock,
      log,
      metrics,
      pollMs: 50,
      definitionOf: () => definition,
    });
    const listener = createListener({ url, channel: 'work', onNotify: () => dispatcher.wake(), clock, log });
    queue.start();
    dispatcher.start();
    listener.start();
    t.teardown(async () => {
      await listener.stop();
      await dispatcher.stop();
      await queue.stop();
    });
    return queue;
  };

  const startRunner = (process: (attempt: Attempt) => Promise<Outcome>) => {
    const runner = createRunner({
      name: 'rollouts',
      pool,
      redis,
      clock,
      log,
      metrics,
      definition,
      lockMs,
      process: async (attempt) => {
        try {
          return await process(attempt);
        } finally {
          setImmediate(() => {
            for (const wake of changed) wake();
          });
        }
      },
    });
    runner.start();
    t.teardown(() => runner.stop());
    return runner;
  };
  return { pool, url, redis, registry, rows, until, startDispatcher, startRunner };
}

/** A queue that records its jobs instead of running them. */
function deadQueue(jobs: WorkPayload[]): JobQueue {
  return {
    name: 'rollouts',
    start: () => undefined,
    ready: () => true,
    waiting: async () => 0,
    add: async (added) => void jobs.push(...added),
    stop: async () => undefined,
  };
}

const allDone = (rows: WorkRow[]) => rows.every(({ state }) => state === 'done');

t.test('an inserted work row is processed once, and Redis keeps nothing of it', async (t) => {
  const { pool, redis, until, startDispatcher, startRunner, registry } = await bus(t);
  const received: string[] = [];
  startRunner(async ({ recordId, attempt, last, signal }) => {
    t.same({ attempt, last, aborted: signal.aborted }, { attempt: 1, last: false, aborted: false });
    received.push(recordId);
    return 'done';
  });
  startDispatcher();
  const records = Array.from({ length: 30 }, () => newId());
  for (const record of records) await insertWork(pool, 'rollouts', record);
  await until(allDone);
  t.same(received.sort(), records.sort());
  const client = new Redis(redis.url);
  const keys = await client.keys('*-1');
  client.disconnect();
  t.same(keys, [], 'finished jobs are removed');
  const text = await registry.metrics();
  t.match(text, 'svc_work_attempts_total{queue="rollouts",outcome="done"} 30');
  t.match(text, 'svc_work_handed_over_total{queue="rollouts"} 30');
});

t.test('two dispatchers hand each row over once per attempt', async (t) => {
  const { pool, startDispatcher, rows } = await bus(t, { definition: { ...hurried, timeoutMs: 60_000 } });
  const jobs: WorkPayload[] = [];
  startDispatcher(deadQueue(jobs));
  startDispatcher(deadQueue(jobs));
  await Promise.all(Array.from({ length: 200 }, () => insertWork(pool, 'rollouts', newId())));
  while ((await rows()).some(({ due }) => due)) await new Promise((resolve) => setImmediate(resolve));
  while (jobs.length < 200) await new Promise((resolve) => setImmediate(resolve));
  t.equal(new Set(jobs.map(({ workId }) => workId)).size, 200);
  t.equal(jobs.length, 200);
  t.ok(jobs.every(({ attempt }) => attempt === 1));
});

t.test('Redis holds at most the jobs that the workers take soon', async (t) => {
  const { pool, until, startDispatcher, startRunner, rows } = await bus(t, {
    definition: { ...hurried, concurrency: 2, timeoutMs: 60_000 },
  });
  await Promise.all(Array.from({ length: 20 }, () => insertWork(pool, 'rollouts', newId())));
  const queue = startDispatcher();
  await until((now) => now.some(({ attempt }) => attempt > 0));
  // Several looks of the dispatcher.
  for (let round = 0; round < 4; round++) await clock.sleep(50);
  t.equal((await rows()).filter(({ attempt }) => attempt > 0).length, 4);
  t.equal(await queue.waiting(), 4);
  startRunner(async () => 'done');
  t.ok((await until(allDone)).every(({ attempt }) => attempt === 1));
});

t.test('all workers of a queue together stay within its rate limit', async (t) => {
  const { until, pool, startDispatcher, startRunner, rows } = await bus(t, {
    definition: { ...hurried, timeoutMs: 60_000, limiter: { max: 3, duration: 600_000 } },
  });
  await Promise.all(Array.from({ length: 8 }, () => insertWork(pool, 'rollouts', newId())));
  startRunner(async () => 'done');
  startRunner(async () => 'done');
  const queue = startDispatcher();
  await until((now) => now.filter(({ state }) => state === 'done').length >= 3);
  // Several looks of the dispatcher, each with room for more.
  for (let round = 0; round < 4; round++) await clock.sleep(50);
  t.equal((await rows()).filter(({ state }) => state === 'done').length, 3);
  t.ok((await queue.waiting()) > 0, 'the others wait in Redis');
});

t.test('an error is retried with back-off and counted; the last attempt knows it; success resets', async (t) => {
  const { pool, until, startDispatcher, startRunner } = await bus(t);
  const attempts: { attempt: number; last: boolean }[] = [];
  startRunner(async ({ attempt, last }) => {
    attempts.push({ attempt, last });
    if (attempt === 1) return { again: new Date() };
    if (attempt <= 4) throw new Error(`failure ${attempt}`);
    return 'done';
  });
  await insertWork(pool, 'rollouts', newId());
  const failures: number[] = [];
  startDispatcher();
  const rows = await until((now) => {
    failures.push(now[0]?.failures ?? 0);
    return allDone(now);
  });
  t.same(attempts, [
    { attempt: 1, last: false },
    { attempt: 2, last: false },
    { attempt: 3, last: false },
    { attempt: 4, last: true },
    { attempt: 5, last: true },
  ]);
  t.match(rows, [{ state: 'done', failures: 3, last_error: null }]);
  t.equal(
    backoff(catalogue.rollouts, 1, () => 0),
    500,
  );
  t.equal(
    backoff(catalogue.rollouts, 3, () => 0),
    2_000,
  );
  t.equal(
    backoff(catalogue.rollouts, 99, () => 0),
    60_000,
  );
  t.equal(
    backoff(catalogue.rollouts, 99, () => 1),
    45_000,
  );
});

t.test('an attempt that takes too long is a failure, and its late result is ignored', async (t) => {
  const { pool, until, startDispatcher, startRunner } = await bus(t, { definition: { ...hurried, timeoutMs: 200 } });
  const late = Promise.withResolvers<void>();
  startRunner(async ({ attempt, signal }) => {
    if (attempt > 1) return 'done';
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await late.promise;
    return { again: new Date('2100-01-01') };
  });
  await insertWork(pool, 'rollouts', newId());
  startDispatcher();
  const rows = await until(allDone);
  late.resolve();
  t.match(rows, [{ attempt: 2, failures: 1 }]);
});

t.test('FLUSHALL between hand-over and processing loses no work', async (t) => {
  const { pool, redis, until, startDispatcher, startRunner, rows } = await bus(t);
  const queue = startDispatcher();
  const ids = await Promise.all(Array.from({ length: 5 }, () => insertWork(pool, 'rollouts', newId())));
  await until((now) => now.every(({ attempt }) => attempt === 1));
  while ((await queue.waiting()) < 5) await new Promise((resolve) => setImmediate(resolve));
  const client = new Redis(redis.url);
  t.equal(await client.flushall(), 'OK');
  client.disconnect();
  const received: number[] = [];
  startRunner(async ({ attempt }) => {
    received.push(attempt);
    return 'done';
  });
  await until(allDone);
  t.same(received, [2, 2, 2, 2, 2]);
  t.same((await rows()).map(({ id }) => id).sort(), ids.sort());
});

t.test('Redis down: work is accepted, and continues without a restart when Redis is back', async (t) => {
  const { pool, redis, until, startDispatcher, startRunner, rows } = await bus(t);
  const queue = startDispatcher();
  startRunner(async () => 'done');
  await insertWork(pool, 'rollouts', newId());
  await until(allDone);
  redis.stop();
  while (queue.ready()) await new Promise((resolve) => setImmediate(resolve));
  await insertWork(pool, 'rollouts', newId());
  // Several looks of the dispatcher.
  for (let round = 0; round < 5; round++) await clock.sleep(50);
  t.match((await rows())[1], { state: 'pending', attempt: 0, due: true }, 'nothing is claimed while Redis is down');
  await redis.start();
  await until(allDone);
});

t.test('the password of Redis is read from its file', async (t) => {
  const { pool, redis, until, startDispatcher, startRunner } = await bus(t);
  const admin = new Redis(redis.url);
  await admin.config('SET', 'requirepass', 'open sesame');
  admin.disconnect();
  Object.assign(redis, { passwordFile: join(t.testdir({ password: 'open sesame\n' }), 'password') });
  startDispatcher();
  startRunner(async () => 'done');
  await insertWork(pool, 'rollouts', newId());
  await until(allDone);
});

t.test('no password is logged, not even a wrong one', async (t) => {
  const redis = await testRedis(t);
  const admin = new Redis(redis.url);
  await admin.config('SET', 'requirepass', 'open sesame');
  admin.disconnect();
  const passwordFile = join(t.testdir({ password: 'wrong-secret' }), 'password');
  const recorded = recordingLog();
  const queue = createJobQueue({ name: 'rollouts', redis: { ...redis, passwordFile }, log: recorded.log });
  const { pool } = await testDatabase(t);
  const metrics = createBusMetrics(new Registry());
  const runner = createRunner({
    name: 'rollouts',
    pool,
    redis: { ...redis, passwordFile },
    clock,
    log: recorded.log,
    metrics,
    process: async () => 'done',
  });
  queue.start();
  runner.start();
  while (recorded.entries.filter(({ msg }) => msg === 'redis does not answer').length < 2) await clock.sleep(10);
  while (!recorded.text().includes('queue trouble')) await clock.sleep(10);
  await Promise.all([queue.stop(), runner.stop()]);
  t.match(recorded.text(), /WRONGPASS|invalid password/);
  t.notMatch(recorded.text(), 'wrong-secret');
});

t.test('work that cannot be added to its queue is released', async (t) => {
  const { pool, startDispatcher, until } = await bus(t);
  const jobs: WorkPayload[] = [];
  let refusals = 2;
  startDispatcher({
    ...deadQueue(jobs),
    add: async (added) => {
      if (refusals-- > 0) throw new Error('no connection');
      jobs.push(...added);
    },
  });
  await insertWork(pool, 'rollouts', newId());
  await until(() => jobs.length > 0);
  t.match(jobs, [{ attempt: 3 }]);
  t.match(await until(() => true), [{ failures: 0 }], 'an outage of the queue is not a failure of the work');
});

t.test('a worker that is stopped finishes its attempt and takes no other', async (t) => {
  const { pool, until, startDispatcher, startRunner, rows } = await bus(t, {
    definition: { ...hurried, concurrency: 1, timeoutMs: 10_000 },
  });
  const startSignal = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  let calls = 0;
  const runner = startRunner(async () => {
    calls++;
    startSignal.resolve();
    await go.promise;
    return 'done';
  });
  startDispatcher();
  await insertWork(pool, 'rollouts', newId());
  await insertWork(pool, 'rollouts', newId());
  await startSignal.promise;
  await until((now) => now.every(({ attempt }) => attempt === 1));
  const stopped = runner.stop();
  go.resolve();
  await stopped;
  t.equal(calls, 1);
  t.same((await rows()).map(({ state }) => state).sort(), ['done', 'pending']);
});

t.test('a job whose row has changed is dropped', async (t) => {
  const { pool, startRunner, redis, registry } = await bus(t);
  const workId = await insertWork(pool, 'rollouts', newId());
  const claim = () => claimDue(pool, 'rollouts', { limit: 1, leaseMs: 0 });
  await claim();
  const [second] = await claim();
  t.match(second, { attempt: 2, lost: false }, 'a lease that expired before the attempt began is not a failure');
  const calls: number[] = [];
  startRunner(async ({ attempt }) => {
    calls.push(attempt);
    return 'done';
  });
  const queue = createJobQueue({ name: 'rollouts', redis, log });
  queue.start();
  t.teardown(() => queue.stop());
  while (!queue.ready()) await new Promise((resolve) => setImmediate(resolve));
  const recordId = newId();
  await queue.add([{ workId, recordId, attempt: 1 }]);
  await queue.add([{ workId, recordId, attempt: 2 }]);
  while (calls.length === 0) await clock.sleep(10);
  const stale = /svc_work_attempts_total\{queue="rollouts",outcome="stale"\} 2/;
  while (!stale.test(await registry.metrics())) {
    // BullMQ ignores the second job until the first one is removed.
    await queue.add([{ workId, recordId, attempt: 2 }]);
    await clock.sleep(10);
  }
  t.same(calls, [2], 'neither an older attempt nor the same one again is run');
});

t.test('the outcome of a stale attempt is not recorded', async (t) => {
  const { pool, rows } = await bus(t);
  const workId = await insertWork(pool, 'rollouts', newId());
  const first = { workId, attempt: 1 };
  const second = { workId, attempt: 2 };
  await claimDue(pool, 'rollouts', { limit: 1, leaseMs: 0 });
  t.ok(await beginAttempt(pool, first, 0));
  t.equal(await beginAttempt(pool, first, 0), undefined, 'an attempt begins once');
  t.match(await claimDue(pool, 'rollouts', { limit: 1, leaseMs: 60_000 }), [{ attempt: 2, lost: true }]);
  t.equal(await recordDone(pool, first), false);
  t.equal(await recordAgain(pool, first, new Date()), false);
  t.equal(await recordFailure(pool, first, 'late', 0), false);
  t.match(await rows(), [{ state: 'pending', attempt: 2, failures: 1, last_error: 'the attempt never answered' }]);
  t.equal(await recordDone(pool, second), false, 'nor of one that never began');
  t.match(await beginAttempt(pool, second, 60_000), { failures: 1 });
  t.equal(await recordDone(pool, second), true);
  t.match(await rows(), [{ state: 'done' }]);
});

t.test('a worker that is stopped past its lock and its lease is replaced, and its result ignored', async (t) => {
  const { pool, url, redis, rows, until, startDispatcher, startRunner } = await bus(t);
  const stopped = startProcess(t, 'tests/runtime/bus/one-runner.ts', { DATABASE_URL: url, REDIS_URL: redis.url });
  const [stops, ignored] = [stopped.logged('stopped'), stopped.logged('answer of a stale attempt ignored')];
  startDispatcher();
  const workId = await insertWork(pool, 'rollouts', newId());
  await stops;
  const first = (await rows())[0]?.attempt ?? 0;
  const client = new Redis(redis.url);
  t.teardown(() => client.disconnect());
  const ofFirst = () => client.exists(`bull:rollouts:${jobId({ workId, attempt: first })}`);
  t.equal(await ofFirst(), 1);
  startRunner(async () => ({ again: new Date('2100-01-01') }));
  const [replaced] = await until(([row]) => row !== undefined && row.attempt > first && row.leased_until === null);
  while ((await ofFirst()) > 0) await clock.sleep(20);
  stopped.child.kill('SIGCONT');
  await ignored;
  t.match(await rows(), [{ state: 'pending', attempt: replaced?.attempt, failures: 0 }]);
});

t.test('a notification during an attempt makes the next one due at its end', async (t) => {
  const { pool, rows } = await bus(t);
  const workId = await insertWork(pool, 'rollouts', newId());
  await claimDue(pool, 'rollouts', { limit: 1, leaseMs: 60_000 });
  await beginAttempt(pool, { workId, attempt: 1 }, 60_000);
  // As nudgeRollouts does.
  await pool.query('UPDATE work SET due_at = LEAST(due_at, now())');
  t.match(await rows(), [{ due: false }], 'one attempt at a time');
  t.equal(await recordAgain(pool, { workId, attempt: 1 }, new Date('2100-01-01')), true);
  t.match(await rows(), [{ due: true }]);
});

t.test('metrics report the state of the work, and survive a database outage', async (t) => {
  const { pool, redis } = await bus(t);
  const registry = new Registry();
  const queue = createJobQueue({ name: 'rollouts', redis, log });
  queue.start();
  t.teardown(() => queue.stop());
  while (!queue.ready()) await new Promise((resolve) => setImmediate(resolve));
  createBusMetrics(registry).watch(pool, [queue]);
  await insertWork(pool, 'rollouts', newId());
  await insertWork(pool, 'rollouts', newId());
  await claimDue(pool, 'rollouts', { limit: 1, leaseMs: 60_000 });
  const text = await registry.metrics();
  t.match(text, 'svc_work_due{queue="rollouts"} 1');
  t.match(text, 'svc_work_pending{queue="rollouts"} 2');
  t.match(text, 'svc_queue_waiting{queue="rollouts"} 0');
  redis.stop();
  while (queue.ready()) await new Promise((resolve) => setImmediate(resolve));
  await pool.query('DROP TABLE work');
  t.notMatch(await registry.metrics(), 'svc_work_due{queue="rollouts"}');
});
