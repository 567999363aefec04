import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { calendarDay, type CalendarDay } from '../../runtime/domain/period.ts';
import {
  continues,
  type Changes,
  type GateSession,
  type GateStore,
  type Head,
  type ViewPosition,
} from './gate-store.ts';
import type { Usage } from './usage.ts';
import type { GateView } from './view.ts';
import { createStoreConnection } from './store-connection.ts';

/** Polls alone keep the view fresh and apply revocations within seconds. A NOTIFY only speeds this up. */
const pollEveryMs = 1_000;
/** A connection or poll that takes longer counts as failed: far below the 90 s limit, far above a busy store. */
const pollLimitMs = 5_000;
/** 100,000 keys load in a few seconds, and so does the usage of all of them. */
const loadLimitMs = 30_000;
/** Interval of reports without a change, which show that the replica is alive. */
const reportEveryMs = 5_000;
const retryMinMs = 250;
const retryMaxMs = 5_000;

export type PollOutcome = 'unchanged' | 'applied' | 'loaded' | 'failed';

export interface FeedDependencies {
  store: GateStore;
  view: GateView;
  usage: Usage;
  /** The replica's name: its pod's. */
  name: string;
  clock: Clock;
  log: Logger;
  /** Called after every poll, for metrics. */
  observe?: (outcome: PollOutcome) => void;
}

/** Keeps a view current. */
export interface Feed {
  /** Starts polling and returns at once. Failures are retried forever and show in the view's age. */
  start(): void;
  /** Polls now instead of after the interval. */
  nudge(): void;
  stop(): Promise<void>;
}

/**
 * Follows the feed and the usage of other replicas on one connection, which it reopens after every failure. It also
 * maintains the replica's own record: when another process closed its incarnation, or the wall clock went back by days,
 * usage continues under a new incarnation (decision 0008).
 */
export function createFeed({ store, view, usage, name, clock, log, observe }: FeedDependencies): Feed {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let notified = false;
  let wake: (() => void) | undefined;
  let reported: { at: number; position: ViewPosition; incarnation: Id } | undefined;

  const nudge = () => {
    notified = true;
    wake?.();
  };

  /** Sleeps until `ms` have passed, a notification comes, or the feed stops. */
  const sleep = async (ms: number) => {
    if (notified || stopping.signal.aborted) return;
    const timer = new AbortController();
    wake = () => timer.abort();
    await clock.sleep(ms, timer.signal).catch(() => undefined);
    wake = undefined;
  };

  const { session, within, drop } = createStoreConnection({ store, clock, signal: stopping.signal }, nudge);

  /** Loads everything. @param renewal the new incarnation, and the last batch that the previous one wrote */
  const load = async (connection: GateSession, renewal?: { incarnation: Id; batches: number }) => {
    const incarnation = renewal?.incarnation ?? usage.incarnation();
    const wall = clock.now().getTime();
    const days = renewal ? calendarDay(wall) : usage.calendar(wall);
    const loading = view.beginLoad();
    const usageOfOthers = new Map<Id, number>();
    const sink = {
      ...loading,
      others: (rows: Changes['others']) => rows.forEach(({ keyId, allowed }) => usageOfOthers.set(keyId, allowed)),
    };
    const { primary, position } = await within(
      loadLimitMs,
      'loading',
      connection.load({ incarnation, calendar: days }, sink),
    );
    requirePrimary(primary);
    loading.commit(position);
    if (renewal) usage.renew(renewal.incarnation, renewal.batches, days);
    usage.replaceOthers(usageOfOthers, days);
    log.info({ ...view.size(), version: position.feed.version }, 'gate view loaded');
  };

  /** Continues under a new incarnation. */
  const renew = async (connection: GateSession) => {
    const [last, incarnation] = [usage.incarnation(), newId()];
    const batches = await within(pollLimitMs, 'closing the incarnation', connection.close(last));
    await load(connection, { incarnation, batches });
    await within(pollLimitMs, 'registering the incarnation', connection.register(incarnation, name));
    log.warn({ last, incarnation }, 'usage continues under a new incarnation');
  };

  /** @returns false when the changes do not fit the view, which then has to be loaded again */
  const applied = (changes: Changes, days: CalendarDay): boolean => {
    try {
      view.apply(changes);
    } catch (error) {
      log.error({ err: error }, 'gate view is inconsistent');
      return false;
    }
    if (changes.allUsage)
      usage.replaceOthers(
        changes.others.map(({ keyId, allowed }) => [keyId, allowed]),
        days,
      );
    else usage.updateOthers(changes.others, days);
    return true;
  };

  /** Applies the changes since the view's position. @returns undefined when a load is needed */
  const follow = async (connection: GateSession, since: ViewPosition, head: Head): Promise<PollOutcome | undefined> => {
    const continuity = continues(head, since);
    if (!continuity.feed) return undefined;
    const days = usage.calendar(clock.now().getTime());
    const newDay = usage.othersCalendar()?.day !== days.day;
    const still =
      head.position.feed.version === since.feed.version && head.position.usage.version === since.usage.version;
    if (still && continuity.usage && !newDay) return 'unchanged';
    const changes = await within(
      loadLimitMs,
      'reading changes',
      connection.changes({
        since,
        allUsage: newDay,
        incarnation: usage.incarnation(),
        calendar: days,
        periodOf: (planId) => view.plan(planId)?.quota?.period,
      }),
    );
    if (!changes) return undefined;
    requirePrimary(changes.primary);
    if (!applied(changes, days)) return undefined;
    if (newDay) usage.forget(days);
    return 'applied';
  };

  /** Polls once. Afterwards the view contains everything committed before the poll began. */
  const poll = async (connection: GateSession): Promise<PollOutcome> => {
    const sent = clock.monotonic();
    const since = view.position();
    const head = await within(pollLimitMs, 'a poll', connection.head(since, usage.incarnation()));
    requirePrimary(head.primary);
    // The replica has just started, or the store was restored from an older copy.
    if (head.replica === 'missing') {
      await within(pollLimitMs, 'registering the incarnation', connection.register(usage.incarnation(), name));
    }
    const continuity = since && continues(head, since);
    if (continuity && (!continuity.feed || !continuity.usage)) usage.rewrite();
    let outcome: PollOutcome | undefined;
    if (head.replica === 'closed' || usage.outrun(clock.now().getTime())) {
      await renew(connection);
      outcome = 'loaded';
    } else {
      outcome = since && (await follow(connection, since, head));
      if (!outcome) await load(connection);
      outcome ??= 'loaded';
    }
    view.provenAt(sent);
    await report(connection);
    return outcome;
  };

  const report = async (connection: GateSession) => {
    const [at, position, incarnation] = [clock.monotonic(), view.position(), usage.incarnation()];
    if (!position) return;
    const same =
      reported?.incarnation === incarnation &&
      reported.position.feed.feedId === position.feed.feedId &&
      reported.position.feed.version === position.feed.version;
    if (same && reported && at - reported.at < reportEveryMs) return;
    await within(pollLimitMs, 'a report', connection.report(incarnation, position.feed));
    reported = { at, position, incarnation };
  };

  const run = async () => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      notified = false;
      try {
        const outcome = await poll(await session());
        if (failures > 0) log.info({ failures }, 'feed recovered');
        failures = 0;
        observe?.(outcome);
        await sleep(pollEveryMs);
      } catch (error) {
        drop();
        if (stopping.signal.aborted) return;
        if (failures === 0) log.warn({ err: error }, 'feed failed');
        else log.debug({ err: error }, 'feed failed again');
        const limit = Math.min(retryMaxMs, retryMinMs * 2 ** failures);
        failures++;
        observe?.('failed');
        // The lost connection may have nudged, which would turn this into a busy loop.
        notified = false;
        await sleep(limit / 2 + Math.random() * (limit / 2));
      }
    }
  };

  return {
    start() {
      running ??= run();
    },
    nudge,
    async stop() {
      stopping.abort();
      wake?.();
      drop();
      await running;
    },
  };
}

/** A standby may be behind the primary, so it cannot prove freshness. */
function requirePrimary(primary: boolean): void {
  if (!primary) throw new Error('the store answered from a standby');
}
