import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { calendarDay, type CalendarDay } from '../../runtime/domain/period.ts';
import { continues, type GateSession, type Head, type OthersRow, type ViewPosition } from './gate-store.ts';
import type { SharedRates } from './shared-rates.ts';
import type { StoreConnection } from './store-connection.ts';
import type { Usage } from './usage.ts';
import type { GateView } from './view.ts';

/** A poll that takes longer counts as failed: far below the 90 s limit, far above a busy store. */
const pollLimitMs = 5_000;
/** A million keys load in a quarter of this time. Beyond 90 s, a load could not prove freshness any more. */
const loadLimitMs = 60_000;
/** Slots are freed after this many keys were deleted, in one pass over all, and after every load. */
const freeAfter = 10_000;
/** Interval of reports without a change, which show that the replica is alive. */
const reportEveryMs = 5_000;

/** `applied`: the changes since the last poll were read. `loaded`: everything was read. */
export type PollOutcome = 'unchanged' | 'applied' | 'loaded' | 'failed';

export interface FeedPollDependencies {
  view: GateView;
  usage: Usage;
  rates: Pick<SharedRates, 'counted' | 'shared'>;
  /** The replica's name: its pod's. */
  name: string;
  clock: Clock;
  log: Logger;
  withTimeout: StoreConnection['withTimeout'];
  /** Called after the first load, before any request can be allowed. */
  onFirstLoad?: (() => void) | undefined;
}

/**
 * Polls once. Afterwards the view contains everything committed before the poll began.
 * @throws Error when the store fails, takes too long, or is a standby; the poll can be repeated on a new session
 */
export type FeedPoll = (session: GateSession) => Promise<PollOutcome>;

/** Reads the head of the feed, brings the view and the usage of other replicas up to it, and reports the position. */
export function createFeedPoll({
  view,
  usage,
  rates,
  name,
  clock,
  log,
  withTimeout,
  onFirstLoad,
}: FeedPollDependencies): FeedPoll {
  let reported: { at: number; position: ViewPosition; incarnation: Id; sharesRates: boolean } | undefined;
  let deleted = 0;

  const poll: FeedPoll = async (session) => {
    const startedAt = clock.monotonic();
    const since = view.position();
    const head = await withTimeout(pollLimitMs, 'a poll', session.head(since, usage.incarnation()));
    requirePrimary(head.primary);
    // The replica has just started, or the store was restored from an older copy.
    const isNew = head.replica === 'missing';
    if (isNew) await register(session, usage.incarnation());
    rates.counted(head.replicas + (isNew ? 1 : 0));
    const outcome = await catchUp(session, head, since);
    view.provenAt(startedAt);
    await report(session);
    return outcome;
  };

  const register = (session: GateSession, incarnation: Id) =>
    withTimeout(pollLimitMs, 'registering the incarnation', session.register(incarnation, name));

  const catchUp = async (session: GateSession, head: Head, since: ViewPosition | undefined): Promise<PollOutcome> => {
    const continuity = since && continues(head, since);
    if (continuity && (!continuity.feed || !continuity.usage)) usage.rewrite();
    const wall = clock.now().getTime();
    if (head.replica === 'closed' || usage.outrun(wall)) {
      await renew(session);
      return 'loaded';
    }
    if (since && continuity?.feed) {
      const days = usage.calendar(wall);
      if (continuity.usage && !isNewDay(days) && sameVersions(head.position, since)) return 'unchanged';
      if (await follow(session, since, days)) return 'applied';
    }
    await load(session);
    return 'loaded';
  };

  const isNewDay = (days: CalendarDay) => usage.othersCalendar()?.day !== days.day;

  /** Continues under a new incarnation. */
  const renew = async (session: GateSession) => {
    const [last, incarnation] = [usage.incarnation(), newId()];
    const batches = await withTimeout(pollLimitMs, 'closing the incarnation', session.close(last));
    await load(session, { incarnation, batches });
    await register(session, incarnation);
    log.warn({ last, incarnation }, 'usage continues under a new incarnation');
  };

  /** Applies the changes since the view's position. @returns false when a load is needed */
  const follow = async (session: GateSession, since: ViewPosition, days: CalendarDay): Promise<boolean> => {
    const newDay = isNewDay(days);
    const question = {
      since,
      allUsage: newDay,
      incarnation: usage.incarnation(),
      calendar: days,
      periodOf: (planId: Id) => view.plan(planId)?.quota?.period,
    };
    const others = usage.readOthers();
    const changes = await withTimeout(loadLimitMs, 'reading changes', session.changes(question, others));
    if (!changes) return false;
    requirePrimary(changes.primary);
    try {
      view.apply(changes);
    } catch (error) {
      log.error({ err: error }, 'gate view is inconsistent');
      return false;
    }
    others.commit(days, changes.allUsage);
    if (newDay) usage.forget(days);
    deleted += changes.gone.keys.length;
    if (newDay || deleted >= freeAfter) freeSlots();
    return true;
  };

  /** Loads everything. @param renewal the new incarnation, and the last batch that the previous one wrote */
  const load = async (session: GateSession, renewal?: { incarnation: Id; batches: number }) => {
    const incarnation = renewal?.incarnation ?? usage.incarnation();
    const wall = clock.now().getTime();
    const days = renewal ? calendarDay(wall) : usage.calendar(wall);
    const isFirst = view.position() === undefined;
    const loading = view.beginLoad();
    const others = usage.readOthers();
    const sink = { ...loading, others: (rows: OthersRow[]) => others.others(rows) };
    const reading = session.load({ incarnation, calendar: days }, sink);
    const { primary, position } = await withTimeout(loadLimitMs, 'loading', reading);
    requirePrimary(primary);
    loading.commit(position);
    if (renewal) usage.renew(renewal.incarnation, renewal.batches, days);
    others.commit(days, true);
    freeSlots();
    if (isFirst) onFirstLoad?.();
    log.info({ ...view.size(), version: position.feed.version }, 'gate view loaded');
  };

  const freeSlots = () => {
    deleted = 0;
    usage.freeSlots((slot) => view.hasKey(slot));
  };

  /** Reports a change at once, and otherwise that the replica is alive. */
  const report = async (session: GateSession) => {
    const [at, position, incarnation] = [clock.monotonic(), view.position(), usage.incarnation()];
    const sharesRates = rates.shared();
    if (!position) return;
    const same =
      reported?.incarnation === incarnation &&
      reported.sharesRates === sharesRates &&
      reported.position.feed.feedId === position.feed.feedId &&
      reported.position.feed.version === position.feed.version;
    if (same && reported && at - reported.at < reportEveryMs) return;
    await withTimeout(pollLimitMs, 'a report', session.report(incarnation, position.feed, sharesRates));
    reported = { at, position, incarnation, sharesRates };
  };

  return poll;
}

/** A standby may be behind the primary, so it cannot prove freshness. */
function requirePrimary(primary: boolean): void {
  if (!primary) throw new Error('the store answered from a standby');
}

function sameVersions(head: ViewPosition, since: ViewPosition): boolean {
  return head.feed.version === since.feed.version && head.usage.version === since.usage.version;
}
