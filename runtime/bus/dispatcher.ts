import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.ts';
import { catalogue, type QueueDefinition } from '../queues/catalogue.ts';
import type { JobQueue } from './job-queue.ts';
import type { BusMetrics } from './metrics.ts';
import { claimDue, dueKinds, returnClaims } from './work-table.ts';

/** A wake-up that was missed costs this much; so does the step from one failure to the next. */
const defaultPollMs = 1_000;
/** At one time; the next batch follows at once. */
const batch = 50;

export interface DispatcherDependencies {
  pool: Pool;
  queues: readonly JobQueue[];
  clock: Clock;
  log: Logger;
  metrics: BusMetrics;
  /** Default 1 s. */
  pollMs?: number;
  /** Where tests kill the process: `relay.claimed`, `relay.added`. Default nowhere. */
  failpoint?: (name: string) => void;
  /** Default: the catalogue's. */
  definitionOf?: (name: JobQueue['name']) => QueueDefinition;
}

/** Hands due work over to the queues. */
export interface Dispatcher {
  start(): void;
  /** Looks now instead of at the next poll: for notifications and ends of attempts. */
  wake(): void;
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

/**
 * The relay between work table and Redis (design.md §4). A row is claimed and committed before its job is added: no lock
 * is held while Redis is asked, and no worker sees a job before its row. A crash between the two costs the lease, as a
 * flush of Redis does. Any number of dispatchers may run.
 */
export function createDispatcher(dependencies: DispatcherDependencies): Dispatcher {
  const { pool, queues, clock, log, metrics, pollMs = defaultPollMs, failpoint } = dependencies;
  const definitionOf = dependencies.definitionOf ?? ((name): QueueDefinition => catalogue[name]);
  const names = queues.map(({ name }) => name);
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let woken = false;
  let rouse: (() => void) | undefined;

  /** Hands over one batch; true when there may be more. */
  const handOver = async (queue: JobQueue): Promise<boolean> => {
    if (!queue.ready()) return false;
    const { concurrency, timeoutMs } = definitionOf(queue.name);
    // A row that waits in Redis for longer than its lease is handed over again, so that jobs beyond what the workers
    // take soon would only make more jobs.
    const room = 2 * concurrency - (await queue.waiting());
    const limit = Math.min(batch, room);
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

  const rest = async () => {
    if (woken || stopping.signal.aborted) return;
    const timer = new AbortController();
    rouse = () => timer.abort();
    await clock.sleep(pollMs, timer.signal).catch(() => undefined);
    rouse = undefined;
  };

  const run = async () => {
    let failing = false;
    while (!stopping.signal.aborted) {
      woken = false;
      try {
        const due = await dueKinds(pool, names);
        for (const queue of queues.filter(({ name }) => due.has(name))) {
          while (!stopping.signal.aborted && (await handOver(queue))) continue;
        }
        if (failing) log.info('dispatcher works again');
        failing = false;
      } catch (error) {
        if (!failing) log.warn({ err: error }, 'dispatcher failed');
        failing = true;
        // Else wake-ups would make a busy loop of an outage.
        woken = false;
      }
      await rest();
    }
  };

  return {
    start() {
      running ??= run();
    },
    wake() {
      woken = true;
      rouse?.();
    },
    async stop() {
      stopping.abort();
      rouse?.();
      await running;
    },
  };
}
