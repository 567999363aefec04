import type { Pool } from 'pg';
import type { Attempt, Processor } from '../../runtime/bus/runner.ts';
import { assistantLimits } from '../../runtime/domain/assistant.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { dayMs, periodStart, utcDay } from '../../runtime/domain/period.ts';
import { catalogue } from '../../runtime/queues/catalogue.ts';
import { purgeChunks } from '../../runtime/records/source-chunks.ts';
import {
  closeSilentReplicas,
  findUnfolded,
  foldUsage,
  purgeAged,
  purgeDeadLetters,
  purgeReplicas,
  purgeSessions,
  purgeTokens,
  purgeUsage,
  purgeWork,
} from './store.ts';

export interface HousekeepingDependencies {
  pool: Pool;
  clock: Clock;
  /** Maximum rows of one statement; default 5,000. */
  batch?: number;
}

const hourMs = 3_600_000;
/** The age of its last report at which a checker counts as gone. It reports every 5 s, and denies all requests after 90 s without the database. */
const silentMs = 10 * 60_000;
/** Retention of usage in UTC days, including the current one (docs/reference/api.md#usage). */
const usageDays = 92;
/** Retention of webhook deliveries. */
const deliveryMs = 30 * dayMs;
/** Retention of build logs, which have up to a megabyte each. */
const buildLogMs = 90 * dayMs;
/** Retention of notifications and their attempts. */
const notificationMs = 30 * dayMs;
/** Retention of audit entries (docs/reference/logs.md#audit). */
const auditMs = 90 * dayMs;
/** Retention of conversations with the assistant, and of its usage. */
const assistantMs = assistantLimits.days * dayMs;
/** Retention of dead letters. */
const deadLetterMs = 30 * dayMs;
/** Retention of expired access tokens, so that their owners see why a pipeline is refused. */
const tokenMs = 30 * dayMs;
/** Retention of uploaded content since the last upload or build that needed it, and of the list of a deployment's files. */
const sourceMs = 7 * dayMs;
/** Chunks have up to a mebibyte each, so fewer are deleted at once than other rows. */
const chunkBatch = 200;
/** Retention of done work rows, which only show recent history. */
const workMs = 7 * dayMs;
/** The part of an attempt's time-out that is used; the rest of the work is left to the next attempt, which follows at once. */
const budgetMs = catalogue.housekeeping.timeoutMs / 2;

/**
 * Keeps the tables small: folds the usage of ended checkers, and deletes rows at the end of their retention above, expired
 * sessions, and the records of checkers that ended 92 days ago. Every step may be interrupted, repeated, or run twice at
 * the same time.
 */
export function createHousekeepingProcessor({ pool, clock, batch = 5_000 }: HousekeepingDependencies): Processor {
  return async ({ log, signal }: Attempt) => {
    const [now, started] = [clock.now(), clock.monotonic()];
    const inTime = () => !signal.aborted && clock.monotonic() - started < budgetMs;
    const ago = (ms: number) => new Date(now.getTime() - ms);
    let complete = true;

    /** Repeats a step of `size` rows until none are left or the time is up. @returns the number of rows */
    const drain = async (step: () => Promise<number>, size = batch): Promise<number> => {
      let rows = 0;
      for (;;) {
        if (!inTime()) {
          complete = false;
          return rows;
        }
        const done = await step();
        rows += done;
        if (done < size) return rows;
      }
    };

    const closed = await closeSilentReplicas(pool, silentMs);
    for (const replica of closed) log.warn(replica, 'checker has not reported for 10 minutes; its usage is closed');
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
    const crashLogs = await drain(() => purgeAged(pool, 'crash_logs', ago(buildLogMs), batch));
    const webhookDeliveries = await drain(() => purgeAged(pool, 'webhook_deliveries', ago(deliveryMs), batch));
    const notifications = await drain(() => purgeAged(pool, 'notification_deliveries', ago(notificationMs), batch));
    const alerts = await drain(() => purgeAged(pool, 'alert_episodes', ago(notificationMs), batch));
    const auditEntries = await drain(() => purgeAged(pool, 'audit_entries', ago(auditMs), batch));
    const conversations = await drain(() => purgeAged(pool, 'assistant_conversations', ago(assistantMs), batch));
    const assistantUsage = await drain(() => purgeAged(pool, 'assistant_usage', ago(assistantMs), batch));
    const deadLetters = await drain(() => purgeDeadLetters(pool, ago(deadLetterMs), batch));
    const sources = await drain(() => purgeAged(pool, 'deployment_sources', ago(sourceMs), batch));
    const chunks = await drain(() => purgeChunks(pool, ago(sourceMs), chunkBatch), chunkBatch);
    const sessions = await purgeSessions(pool, now);
    const accessTokens = await purgeTokens(pool, ago(tokenMs));
    const replicas = await purgeReplicas(pool, ago(usageDays * dayMs));
    const purged = {
      usage,
      work,
      buildLogs,
      crashLogs,
      webhookDeliveries,
      notifications,
      alerts,
      auditEntries,
      conversations,
      assistantUsage,
      deadLetters,
      sources,
      chunks,
      sessions,
      accessTokens,
      replicas,
    };
    log.info({ folded, purged }, 'housekeeping done');
    return { again: complete ? new Date(now.getTime() + hourMs) : now };
  };
}
