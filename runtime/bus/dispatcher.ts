import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.ts';
import { catalogue, type QueueDefinition } from '../queues/catalogue.ts';
import type { JobQueue } from './job-queue.ts';
import type { BusMetrics } from './metrics.ts';
import { claimDue, dueKinds, returnClaims } from './work-table.ts';

/** A missed wake-up is noticed after this time. Also the delay after a failure. */
const defaultPollMs = 1_000;
/** Maximum rows of one claim; the next one follows immediately. */
const batch = 50;

export interface DispatcherDependencies {
  pool: Pool;
  queues: readonly JobQueue[];
  clock: Clock;
  log: Logger;
  metrics: BusMetrics;
  /** Default 1 s. */
  pollMs?: number;
  /**
   * Called with the name of each step at which tests kill the process: `relay.claimed` and `relay.added`. Default: does
   * nothing.
   */
  failpoint?: (name: string) => void;
  /** Default: the catalogue's. */
  definitionOf?: (name: JobQueue['name']) => QueueDefinition;
}

/** Adds a job to its queue for each work row that is due. */
export interface Dispatcher {
  start(): void;
  /** Checks for due rows now instead of at the next poll, after a notification or the end of an attempt. */
  wake(): void;
  /** Resolves when the batch in progress is done. */
  stop(): Promise<void>;
}

/**
 * Moves due rows of the work table to Redis (docs/architecture.md). It claims a row and commits before it adds the job,
 * so that no lock is held during calls to Redis and no worker sees a job before its row. After a crash between the two, or
 * when Redis loses its data, the row is due again at the end of its lease. Any number of dispatchers may run.
 */
export function createDispatcher(dependencies: DispatcherDependencies): Dispatcher {
  const { pool, queues, clock, log, metrics, pollMs = defaultPollMs, failpoint } = dependencies;
  const definitionOf = dependencies.definitionOf ?? ((name): QueueDefinition => catalogue[name]);
  const names = queues.map(({ name }) => name);
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let woken = false;
  let endSleep: (() => void) | undefined;

  /**
   * Adds jobs for one batch of rows.
   * @returns whether more rows may be due
   */
  const handOver = async (queue: JobQueue): Promise<boolean> => {
    if (!queue.ready()) return false;
    const { concurrency, timeoutMs } = definitionOf(queue.name);
    // A job that waits in Redis for longer than its row's lease is added again, so more jobs than the workers start
    // soon would only add duplicates.
    const capacity = 2 * concurrency - (await queue.waiting());
    const limit = Math.min(batch, capacity);
    if (limit <= 0) return false;
    const claims = await claimDue(pool, queue.name, { limit, leaseMs: timeoutMs });
    if (claims.length === 0) return false;
    failpoint?.('relay.claimed');
    try {
      await queue.add(claims.map(({ workId, recordId, attempt }) => ({ workId, recordId, attempt })));
    } catch (error) {
      await returnClaims(pool, claims, pollMs);
      throw error;
    }
    failpoint?.('relay.added');
    metrics.handedOver(queue.name, claims.length);
    for (const { workId, attempt, lost } of claims) {
      if (!lost) continue;
      metrics.attempted(queue.name, 'lost');
      log.warn({ queue: queue.name, workId, attempt: attempt - 1 }, 'attempt never answered');
    }
    return claims.length === limit;
  };

  const sleep = async () => {
    if (woken || stopping.signal.aborted) return;
    const timer = new AbortController();
    endSleep = () => timer.abort();
    await clock.sleep(pollMs, timer.signal).catch(() => undefined);
    endSleep = undefined;
  };

  const handOverDue = async () => {
    const due = await dueKinds(pool, names);
    for (const queue of queues.filter(({ name }) => due.has(name))) {
      while (!stopping.signal.aborted && (await handOver(queue))) continue;
    }
  };

  const run = async () => {
    let failing = false;
    while (!stopping.signal.aborted) {
      woken = false;
      try {
        await handOverDue();
        if (failing) log.info('dispatcher works again');
        failing = false;
      } catch (error) {
        if (!failing) log.warn({ err: error }, 'dispatcher failed');
        failing = true;
        // Otherwise wake-ups would cause a busy loop during an outage.
        woken = false;
      }
      await sleep();
    }
  };

  return {
    start() {
      running ??= run();
    },
    wake() {
      woken = true;
      endSleep?.();
    },
    async stop() {
      stopping.abort();
      endSleep?.();
      await running;
    },
  };
}
