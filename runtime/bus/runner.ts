import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.ts';
import type { Id } from '../domain/ids.ts';
import { catalogue, type QueueDefinition, type QueueName, type WorkPayload } from '../queues/catalogue.ts';
import type { BusMetrics } from './metrics.ts';
import { openWorkerRedis, withoutCommand, type RedisAddress } from './redis.ts';
import { beginAttempt, recordAgain, recordDone, recordFailure } from './work-table.ts';

/** One attempt of one work row, as its processor sees it. */
export interface Attempt {
  /** The id of the record; the processor reads its current state. */
  recordId: Id;
  /** The number of the attempt, from 1. */
  attempt: number;
  /**
   * Whether this is the last attempt of the catalogue: end the record instead of throwing. A throw is still retried.
   */
  last: boolean;
  /** Aborted at the attempt's time-out; its result is ignored from then on. */
  signal: AbortSignal;
  log: Logger;
}

/**
 * The result of a processor: the work is done, or the next attempt is due at this time, or earlier when it is
 * requested.
 */
export type Outcome = 'done' | { again: Date };

/** Does one step of a work row. A throw counts as a failure and is retried with back-off. */
export type Processor = (attempt: Attempt) => Promise<Outcome>;

/** One processor for each queue of the catalogue. */
export type Processors = { readonly [Name in QueueName]: Processor };

export interface RunnerDependencies {
  name: QueueName;
  process: Processor;
  pool: Pool;
  redis: RedisAddress;
  clock: Clock;
  log: Logger;
  metrics: BusMetrics;
  /** Called when an attempt ends: a job may be added, and the row may be due again. */
  onEnd?: () => void;
  /** Default: the entry of the catalogue. */
  definition?: QueueDefinition;
  /** How long BullMQ keeps a job locked for a worker that does not renew the lock, in ms. Default 30 s. */
  lockMs?: number;
}

/** The consumer of one queue. */
export interface Runner {
  start(): void;
  /**
   * Starts no new attempts, and resolves when running ones have ended or at the limit, after which they are due again.
   */
  stop(): Promise<void>;
}

/** An attempt's lease ends this long after its time-out, so that its failure can still be recorded. */
const graceMs = 5_000;
/** Of the 25 s that a process has to stop: for running attempts, and for closing the connection to Redis. */
const attemptsLimitMs = 16_000;
const closeLimitMs = 3_000;
const errorLengthMax = 500;
/** The default of BullMQ. */
const defaultLockMs = 30_000;

/** The delay before the next attempt, in ms, after `failures` consecutive failures, with up to a quarter of jitter. */
export function backoff({ backoffMs, backoffMaxMs }: QueueDefinition, failures: number, random = Math.random): number {
  const full = Math.min(backoffMaxMs, backoffMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(full * (1 - random() / 4));
}

/**
 * Runs a queue's jobs: records the start of each attempt in the work table, calls the processor, and records the
 * result.
 */
export function createRunner(dependencies: RunnerDependencies): Runner {
  const { name, process, pool, redis, clock, metrics, onEnd, lockMs = defaultLockMs } = dependencies;
  const definition: QueueDefinition = dependencies.definition ?? catalogue[name];
  const running = new Set<Promise<void>>();
  let open: { worker: Worker; connection: Redis } | undefined;

  const recordThrow = async (job: WorkPayload, failures: number, error: unknown, log: Logger): Promise<boolean> => {
    const message = error instanceof Error ? error.message : String(error);
    const wait = backoff(definition, failures + 1);
    log.warn({ err: error, failures: failures + 1, retryInMs: wait }, 'attempt failed');
    return recordFailure(pool, job, message.slice(0, errorLengthMax), wait);
  };

  const call = async (job: WorkPayload, recordId: Id, failures: number, log: Logger): Promise<Outcome> => {
    const limit = new AbortController();
    const { timeoutMs, attempts } = definition;
    const timer = new AbortController();
    const timedOut = clock.sleep(timeoutMs, timer.signal).then(() => {
      const error = new Error(`the attempt took longer than ${timeoutMs} ms`);
      limit.abort(error);
      throw error;
    });
    const last = failures + 1 >= attempts;
    try {
      const answer = process({ recordId, attempt: job.attempt, last, signal: limit.signal, log });
      return await Promise.race([answer, timedOut]);
    } finally {
      timer.abort();
    }
  };

  const run = async (data: unknown) => {
    const parsed = definition.payload.safeParse(data);
    if (!parsed.success) {
      dependencies.log.error({ queue: name }, 'job without a readable payload dropped');
      return;
    }
    const job = parsed.data as WorkPayload;
    const log = dependencies.log.child({ queue: name, ...job });
    const attempt = await beginAttempt(pool, job, definition.timeoutMs + graceMs);
    if (!attempt) {
      metrics.attempted(name, 'stale');
      log.debug('stale job dropped');
      return;
    }
    const started = clock.monotonic();
    const seconds = () => (clock.monotonic() - started) / 1_000;
    let recorded: boolean;
    let outcome: 'done' | 'again' | 'failed';
    try {
      const result = await call(job, attempt.recordId, attempt.failures, log);
      outcome = result === 'done' ? 'done' : 'again';
      if (result === 'done') {
        recorded = await recordDone(pool, job);
      } else {
        recorded = await recordAgain(pool, job, result.again);
      }
    } catch (error) {
      outcome = 'failed';
      recorded = await recordThrow(job, attempt.failures, error, log);
    }
    metrics.attempted(name, recorded ? outcome : 'stale', seconds());
    if (recorded) log.debug({ outcome }, 'attempt answered');
    else log.warn({ outcome }, 'answer of a stale attempt ignored');
  };

  const track = async (data: unknown) => {
    const attempt = run(data);
    running.add(attempt);
    await attempt.finally(() => {
      running.delete(attempt);
      onEnd?.();
    });
  };

  return {
    start() {
      if (open) return;
      const connection = openWorkerRedis(redis, dependencies.log);
      const worker = new Worker<unknown>(name, (job) => track(job.data), {
        connection,
        concurrency: definition.concurrency,
        ...(definition.limiter && { limiter: definition.limiter }),
        // The work row decides about retries; BullMQ must never run a job again.
        maxStalledCount: 0,
        lockDuration: lockMs,
        stalledInterval: lockMs,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
        runRetryDelay: 1_000,
      });
      // A job throws only when the work table is unavailable; its row is due again at the end of the lease.
      worker.on('failed', (_job, error) => dependencies.log.warn({ err: error, queue: name }, 'job failed'));
      worker.on('error', (error) =>
        dependencies.log.debug({ err: withoutCommand(error), queue: name }, 'queue trouble'),
      );
      open = { worker, connection };
    },
    async stop() {
      if (!open) return;
      const { worker, connection } = open;
      open = undefined;
      const timer = new AbortController();
      const wait = (ms: number) => delay(ms, undefined, { signal: timer.signal }).catch(() => undefined);
      // Without Redis, a graceful close would wait forever.
      const graceful = connection.status === 'ready';
      const close = () => worker.close(!graceful).catch(() => undefined);
      const closing = graceful ? close() : undefined;
      await Promise.race([Promise.allSettled(running), wait(attemptsLimitMs)]);
      await Promise.race([closing ?? close(), wait(closeLimitMs)]);
      timer.abort();
      connection.disconnect();
    },
  };
}
