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

/** One attempt of one piece of work, as its processor sees it. */
export interface Attempt {
  /** What the work is about; the processor reads it afresh. */
  recordId: Id;
  /** Counts hand-overs, from 1. */
  attempt: number;
  /** The catalogue's attempts are used up: end the record rather than throw. Work that throws all the same is retried. */
  last: boolean;
  /** Aborted when the attempt's time is up; its answer does not count any more then. */
  signal: AbortSignal;
  log: Logger;
}

/** What a processor answers: the work is done, or it is to be called again at that time, or sooner if somebody nudges. */
export type Outcome = 'done' | { again: Date };

/** Does one step of one piece of work. A throw counts as a failure and is retried with back-off. */
export type Processor = (attempt: Attempt) => Promise<Outcome>;

/** One processor for every queue of the catalogue. */
export type Processors = { readonly [Name in QueueName]: Processor };

export interface RunnerDependencies {
  name: QueueName;
  process: Processor;
  pool: Pool;
  redis: RedisAddress;
  clock: Clock;
  log: Logger;
  metrics: BusMetrics;
  /** Called when an attempt has ended: there is room for another, and its work may be due again. */
  onEnd?: () => void;
  /** Default: the catalogue's. */
  definition?: QueueDefinition;
  /** For how long a job in Redis stays its worker's when that one is not heard of, in ms. Default 30 s. */
  lockMs?: number;
}

/** The taking side of one queue. */
export interface Runner {
  start(): void;
  /** Takes nothing new and resolves once running attempts have answered, or the limit has passed (they are due again). */
  stop(): Promise<void>;
}

/** An attempt's lease outlives its time-out by this much, so that its failure can still be recorded. */
const graceMs = 5_000;
/** Of the 25 s that a process has for stopping: for running attempts, and for taking leave of Redis. */
const attemptsLimitMs = 16_000;
const closeLimitMs = 3_000;
const errorLengthMax = 500;
/** As BullMQ's own. */
const defaultLockMs = 30_000;

/** Wait before the next attempt after `failures` in a row, in ms, with up to a quarter of jitter. */
export function backoff({ backoffMs, backoffMaxMs }: QueueDefinition, failures: number, random = Math.random): number {
  const full = Math.min(backoffMaxMs, backoffMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(full * (1 - random() / 4));
}

/** Runs a queue's jobs: begins each attempt in the work table, calls the processor, and records what it answered. */
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
    const late = clock.sleep(timeoutMs, timer.signal).then(() => {
      const error = new Error(`the attempt took longer than ${timeoutMs} ms`);
      limit.abort(error);
      throw error;
    });
    const last = failures + 1 >= attempts;
    try {
      const answer = process({ recordId, attempt: job.attempt, last, signal: limit.signal, log });
      return await Promise.race([answer, late]);
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
    const begun = await beginAttempt(pool, job, definition.timeoutMs + graceMs);
    if (!begun) {
      metrics.attempted(name, 'stale');
      log.debug('stale job dropped');
      return;
    }
    const started = clock.monotonic();
    const seconds = () => (clock.monotonic() - started) / 1_000;
    let heard: boolean;
    let outcome: 'done' | 'again' | 'failed';
    try {
      const answer = await call(job, begun.recordId, begun.failures, log);
      outcome = answer === 'done' ? 'done' : 'again';
      if (answer === 'done') {
        heard = await recordDone(pool, job);
      } else {
        heard = await recordAgain(pool, job, answer.again);
      }
    } catch (error) {
      outcome = 'failed';
      heard = await recordThrow(job, begun.failures, error, log);
    }
    metrics.attempted(name, heard ? outcome : 'stale', seconds());
    if (heard) log.debug({ outcome }, 'attempt answered');
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
        // The row decides about another attempt; BullMQ never runs a job twice.
        maxStalledCount: 0,
        lockDuration: lockMs,
        stalledInterval: lockMs,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
        runRetryDelay: 1_000,
      });
      // What a job throws is an outage of the work table: its lease runs out, and it is due again.
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
      const within = (ms: number) => delay(ms, undefined, { signal: timer.signal }).catch(() => undefined);
      // Without Redis, an orderly close would wait for ever.
      const orderly = connection.status === 'ready';
      const close = () => worker.close(!orderly).catch(() => undefined);
      const closing = orderly ? close() : undefined;
      await Promise.race([Promise.allSettled(running), within(attemptsLimitMs)]);
      await Promise.race([closing ?? close(), within(closeLimitMs)]);
      timer.abort();
      connection.disconnect();
    },
  };
}
