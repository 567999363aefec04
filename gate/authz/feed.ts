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
import { within } from './within.ts';

/** Polls alone keep the view fresh and revocations within seconds; a NOTIFY only makes them faster. */
const pollEveryMs = 1_000;
/** A connection or a poll that takes longer counts as lost: far below the ceiling of 90 s, far above a busy store. */
const pollLimitMs = 5_000;
/** 100,000 keys load in a few seconds, and so does the usage of all of them. */
const loadLimitMs = 30_000;
/** A replica that has nothing to report reports this often that it is alive. */
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
  /** Told after every attempt; for metrics. */
  observe?: (outcome: PollOutcome) => void;
}

/** Keeps a view current. */
export interface Feed {
  /** Begins to follow; returns at once. Trouble is retried for ever, and shows in the view's age. */
  start(): void;
  /** Looks now instead of at the next poll. */
  nudge(): void;
  stop(): Promise<void>;
}

/**
 * Follows the change feed and the usage of design.md §6 on one connection, which it drops and renews whenever in doubt.
 * It also keeps the replica's own record: a process life that was closed by others, or whose days have run ahead of the
 * wall clock, goes on as another one.
 */
export function createFeed({ store, view, usage, name, clock, log, observe }: FeedDependencies): Feed {
  const stopping = new AbortController();
  let session: GateSession | undefined;
  let running: Promise<void> | undefined;
  let notified = false;
  let wake: (() => void) | undefined;
  let reported: { at: number; position: ViewPosition; incarnation: Id } | undefined;

  const nudge = () => {
    notified = true;
    wake?.();
  };

  /** Waits, but not past a notification or the end. */
  const rest = async (ms: number) => {
    if (notified || stopping.signal.aborted) return;
    const timer = new AbortController();
    wake = () => timer.abort();
    await clock.sleep(ms, timer.signal).catch(() => undefined);
    wake = undefined;
  };

  const limited = <T>(ms: number, what: string, work: Promise<T>) =>
    within({ clock, signal: stopping.signal, ms, what }, work);

  const drop = () => {
    session?.end();
    session = undefined;
  };

  const open = async (): Promise<GateSession> => {
    const opening = store.connect(nudge);
    try {
      session = await limited(pollLimitMs, 'connecting to the store', opening);
      return session;
    } catch (error) {
      void opening.then(
        (late) => late.end(),
        () => undefined,
      );
      throw error;
    }
  };

  /** Reads everything anew. @param renewal what the last incarnation had written, when there is to be another one */
  const load = async (connection: GateSession, renewal?: { incarnation: Id; batches: number }) => {
    const incarnation = renewal?.incarnation ?? usage.incarnation();
    const wall = clock.now().getTime();
    const days = renewal ? calendarDay(wall) : usage.calendar(wall);
    const loading = view.beginLoad();
    const others = new Map<Id, number>();
    const sink = {
      ...loading,
      others: (rows: Changes['others']) => rows.forEach(({ keyId, allowed }) => others.set(keyId, allowed)),
    };
    const { primary, position } = await limited(
      loadLimitMs,
      'loading',
      connection.load({ incarnation, calendar: days }, sink),
    );
    requirePrimary(primary);
    loading.commit(position);
    if (renewal) usage.renew(renewal.incarnation, renewal.batches, days);
    usage.replaceOthers(others, days);
    log.info({ ...view.size(), version: position.feed.version }, 'gate view loaded');
  };

  /** Goes on as another process life. */
  const renew = async (connection: GateSession) => {
    const [last, incarnation] = [usage.incarnation(), newId()];
    const batches = await limited(pollLimitMs, 'closing a process life', connection.close(last));
    await load(connection, { incarnation, batches });
    await limited(pollLimitMs, 'recording a process life', connection.register(incarnation, name));
    log.warn({ last, incarnation }, 'usage goes on as another process life');
  };

  /** False when the changes do not fit what the view holds; it is loaded anew then. */
  const applied = (changes: Changes, days: CalendarDay): boolean => {
    try {
      view.apply(changes);
    } catch (error) {
      log.error({ err: error }, 'gate view does not hold together');
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

  /** What changed since the view's position. Undefined when that cannot be told. */
  const follow = async (connection: GateSession, since: ViewPosition, head: Head): Promise<PollOutcome | undefined> => {
    const known = continues(head, since);
    if (!known.feed) return undefined;
    const days = usage.calendar(clock.now().getTime());
    const newDay = usage.othersCalendar()?.day !== days.day;
    const still =
      head.position.feed.version === since.feed.version && head.position.usage.version === since.usage.version;
    if (still && known.usage && !newDay) return 'unchanged';
    const changes = await limited(
      loadLimitMs,
      'reading changes',
      connection.changes({
        ...{ since, allUsage: newDay, incarnation: usage.incarnation(), calendar: days },
        periodOf: (planId) => view.plan(planId)?.quota?.period,
      }),
    );
    if (!changes) return undefined;
    requirePrimary(changes.primary);
    if (!applied(changes, days)) return undefined;
    if (newDay) usage.forget(days);
    return 'applied';
  };

  /** One round: afterwards everything that was committed before it began is in the view. */
  const poll = async (connection: GateSession): Promise<PollOutcome> => {
    const sent = clock.monotonic();
    const since = view.position();
    const head = await limited(pollLimitMs, 'a poll', connection.head(since, usage.incarnation()));
    requirePrimary(head.primary);
    // One that is not recorded has just started, or stands on an older copy of the store.
    if (head.replica === 'missing') {
      await limited(pollLimitMs, 'recording a process life', connection.register(usage.incarnation(), name));
    }
    const known = since && continues(head, since);
    if (known && (!known.feed || !known.usage)) usage.rewrite();
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
    await limited(pollLimitMs, 'a report', connection.report(incarnation, position.feed));
    reported = { at, position, incarnation };
  };

  const run = async () => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      notified = false;
      try {
        const outcome = await poll(session ?? (await open()));
        if (failures > 0) log.info({ failures }, 'feed recovered');
        failures = 0;
        observe?.(outcome);
        await rest(pollEveryMs);
      } catch (error) {
        drop();
        if (stopping.signal.aborted) return;
        if (failures === 0) log.warn({ err: error }, 'feed failed');
        else log.debug({ err: error }, 'feed failed again');
        const limit = Math.min(retryMaxMs, retryMinMs * 2 ** failures);
        failures++;
        observe?.('failed');
        // The connection that went may have left a nudge behind; it must not turn this into a busy loop.
        notified = false;
        await rest(limit / 2 + Math.random() * (limit / 2));
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

/** A standby may be behind: nothing that it says proves anything. */
function requirePrimary(primary: boolean): void {
  if (!primary) throw new Error('the store answered from a standby');
}
