import type { Pool } from 'pg';
import type { Attempt, Processor } from '../../runtime/bus/runner.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { periodStart, utcDay } from '../../runtime/domain/period.ts';
import { catalogue } from '../../runtime/queues/catalogue.ts';
import {
  closeSilentReplicas,
  findUnfolded,
  foldUsage,
  purgeAged,
  purgeDeadLetters,
  purgeReplicas,
  purgeSessions,
  purgeUsage,
  purgeWork,
} from './store.ts';

export interface HousekeepingDependencies {
  pool: Pool;
  clock: Clock;
  /** Rows that one statement changes at most; default 5,000. */
  batch?: number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A checker reports every 5 s; one that is cut off denies everything after 90 s. */
const silentMs = 10 * 60_000;
/** Usage is kept for so many UTC days, the current one included (spec.md §4.2). */
const usageDays = 92;
/** Deliveries of webhooks are shown for so long. */
const deliveryMs = 30 * dayMs;
/** A log of a build may have a megabyte; what it made, and why it failed, stays in the history. */
const buildLogMs = 90 * dayMs;
/** Who was told what, and what became of it. */
const notificationMs = 30 * dayMs;
/** Events that were given up can be looked at and delivered again for so long. */
const deadLetterMs = 30 * dayMs;
/** Done work tells what happened lately, and nothing else. */
const workMs = 7 * dayMs;
/** What is left when this much of an attempt's time is over waits for the next one, which follows at once. */
const budgetMs = catalogue.housekeeping.timeoutMs / 2;

/**
 * Keeps the tables small: folds the usage of ended checkers, and deletes usage older than 92 days, work that was done a
 * week ago, logs of builds older than 90 days, deliveries of webhooks older than 30 days, notifications that were sent and
 * notifications and events that were given up 30 days ago, sessions that ended, and records of checkers that ended 92 days ago. Every step may be cut off,
 * repeated, or run twice at a time.
 */
export function createHousekeepingProcessor({ pool, clock, batch = 5_000 }: HousekeepingDependencies): Processor {
  return async ({ log, signal }: Attempt) => {
    const [now, started] = [clock.now(), clock.monotonic()];
    const inTime = () => !signal.aborted && clock.monotonic() - started < budgetMs;
    const ago = (ms: number) => new Date(now.getTime() - ms);
    let complete = true;

    /** Repeats a step that does `batch` rows at a time for as long as there are any. */
    const drain = async (step: () => Promise<number>): Promise<number> => {
      let rows = 0;
      for (;;) {
        if (!inTime()) {
          complete = false;
          return rows;
        }
        const done = await step();
        rows += done;
        if (done < batch) return rows;
      }
    };

    const closed = await closeSilentReplicas(pool, silentMs);
    for (const replica of closed) log.warn(replica, 'checker has not been seen for 10 minutes, its usage is closed');
    let folded = 0;
    for (;;) {
      const incarnation = await findUnfolded(pool);
      if (!incarnation || !inTime()) {
        complete &&= !incarnation;
        break;
      }
      folded += await drain(() => foldUsage(pool, incarnation, batch));
    }
    const oldest = utcDay(new Date(periodStart('day', now).getTime() - (usageDays - 1) * dayMs));
    const usage = await drain(() => purgeUsage(pool, oldest, batch));
    const work = await drain(() => purgeWork(pool, ago(workMs), batch));
    const buildLogs = await drain(() => purgeAged(pool, 'build_logs', ago(buildLogMs), batch));
    const webhookDeliveries = await drain(() => purgeAged(pool, 'webhook_deliveries', ago(deliveryMs), batch));
    const notifications = await drain(() => purgeAged(pool, 'notification_deliveries', ago(notificationMs), batch));
    const deadLetters = await drain(() => purgeDeadLetters(pool, ago(deadLetterMs), batch));
    const sessions = await purgeSessions(pool, now);
    const replicas = await purgeReplicas(pool, ago(usageDays * dayMs));
    const purged = { usage, work, buildLogs, webhookDeliveries, notifications, deadLetters, sessions, replicas };
    log.info({ folded, purged }, 'housekeeping done');
    return { again: complete ? new Date(now.getTime() + hourMs) : now };
  };
}
