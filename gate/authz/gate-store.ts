import type { Id } from '../../runtime/domain/ids.ts';
import type { CalendarDay, Period } from '../../runtime/domain/period.ts';

/** A position in the feed's history. */
interface FeedPosition {
  feedId: Id;
  version: number;
  /**
   * The token of the change at `version`; null where it does not exist (an empty feed, or an older change that was
   * deleted).
   */
  token: string | null;
}

/** A position in the history of usage. */
interface UsagePosition {
  version: number;
  /** The token of that version; null where it does not exist. */
  token: string | null;
}

/** The positions up to which a view has applied the two histories. */
export interface ViewPosition {
  feed: FeedPosition;
  usage: UsagePosition;
}

export interface PlanRow {
  id: Id;
  requestsPerSecond: number;
  burst: number;
  /** Both are null without a quota. */
  quotaLimit: number | null;
  quotaPeriod: Period | null;
}

export interface KeyRow {
  id: Id;
  environmentId: Id;
  handle: string;
  /** SHA-256, 32 bytes. */
  digest: Uint8Array;
  name: string | null;
  planId: Id;
  scope: Id[] | null;
  enabled: boolean;
  /** Milliseconds since the epoch; null for a key that does not expire. */
  expiresAt: number | null;
  /** Null allows every client. */
  allowedCidrs: string[] | null;
}

export interface AppRow {
  id: Id;
  environmentId: Id;
  namespace: string;
  name: string;
}

/** The requests that the other replicas have allowed a key in the current period of its plan's quota. */
export interface OthersRow {
  keyId: Id;
  allowed: number;
}

/** Whether a replica's process life may still write usage; `missing` when it has no record. */
export type ReplicaState = 'open' | 'closed' | 'missing';

/** The result of a poll, read in one snapshot. */
export interface Head {
  /** False on a standby, whose data may be old. */
  primary: boolean;
  position: ViewPosition;
  /** The tokens that the two histories have at the requested versions. */
  tokensThere: { feed: string | null; usage: string | null };
  replica: ReplicaState;
  /** The number of replicas that run, as far as they have reported. */
  replicas: number;
}

/** Which usage to read, for which periods. */
export interface UsageQuestion {
  /** Excluded: the incarnation of this replica. */
  incarnation: Id;
  calendar: CalendarDay;
}

export interface ChangesQuestion extends UsageQuestion {
  since: ViewPosition;
  /** Whether to read the usage of all keys, instead of only those with changes. */
  allUsage: boolean;
  /** The period of a plan's quota in the view; a different one changes the usage of all keys of the plan. */
  periodOf: (planId: Id) => Period | undefined;
}

/** The changes between a position and `position`, in one snapshot. */
export interface Changes {
  primary: boolean;
  position: ViewPosition;
  plans: PlanRow[];
  keys: KeyRow[];
  apps: AppRow[];
  gone: { plans: Id[]; keys: Id[]; apps: Id[] };
  /**
   * Whether the usage of all keys with a quota was read that have any, and not only that of keys with changes, which may
   * be 0.
   */
  allUsage: boolean;
}

/** Receives a whole view in pieces, plans before keys. Between two pieces the event loop runs. */
export interface LoadSink {
  plans(rows: PlanRow[]): void;
  apps(rows: AppRow[]): void;
  keys(rows: KeyRow[]): void;
  others(rows: OthersRow[]): void;
}

/**
 * Absolute counts of one process life: a row for each key and UTC day. Columns are bytes and numbers outside of V8's heap,
 * because texts of 40,000 rows a second, which wait for the store, would be garbage among the old objects.
 */
export interface UsageColumns {
  /** 16 bytes for each row. */
  keyIds: Buffer;
  /** Days since 1970-01-01. */
  days: Int32Array;
  allowed: Float64Array;
  rateDenied: Float64Array;
  quotaDenied: Float64Array;
}

/**
 * One connection to the store, for one call at a time. After a call fails or takes too long, the connection is
 * unusable: end it.
 */
export interface GateSession {
  /**
   * Reads the heads of both histories.
   * @param since undefined before the first load
   */
  head(since: ViewPosition | undefined, incarnation: Id): Promise<Head>;
  /**
   * Reads what changed, and passes the usage of other replicas to the sink. Undefined when the changes cannot be
   * determined: the history was replaced, has a gap, or has too many changes. Load instead.
   */
  changes(question: ChangesQuestion, sink: Pick<LoadSink, 'others'>): Promise<Changes | undefined>;
  /** Reads everything in one snapshot. */
  load(question: UsageQuestion, sink: LoadSink): Promise<{ primary: boolean; position: ViewPosition }>;
  /** Records a process life, unless it is recorded. */
  register(incarnation: Id, name: string): Promise<void>;
  /** Reports that the process is alive, the position of its view, and whether it shares rate limits. */
  report(incarnation: Id, feed: FeedPosition, sharesRates: boolean): Promise<void>;
  /**
   * Closes a process life, which then cannot write usage any more.
   * @returns the number of its last batch, or 0
   */
  close(incarnation: Id): Promise<number>;
  /**
   * Writes a batch of usage, numbered from 1. Repeating it with the same content has no effect.
   * @returns false, without writing, when the process life is not open
   */
  flush(incarnation: Id, batch: number, columns: UsageColumns): Promise<boolean>;
  /** Closes the connection, even during a call. Never throws. */
  end(): void;
}

/**
 * The store from which a replica reads keys and plans and to which it writes usage: PostgreSQL, or a test's model of
 * it.
 */
export interface GateStore {
  /**
   * Opens a connection. This may hang, so use a time-out.
   * @param nudge called when the feed changes or the connection is lost; without it, the connection does not listen
   */
  connect(nudge?: () => void): Promise<GateSession>;
}

/** Whether the histories that end at `head` contain what was applied up to `since`. */
export function continues({ position, tokensThere }: Pick<Head, 'position' | 'tokensThere'>, since: ViewPosition) {
  const { feed, usage } = since;
  return {
    feed:
      position.feed.feedId === feed.feedId &&
      extended(position.feed.version, feed.version, tokensThere.feed, feed.token),
    usage:
      position.feed.feedId === feed.feedId &&
      extended(position.usage.version, usage.version, tokensThere.usage, usage.token),
  };
}

/** Histories without a token, except at version 0, cannot be compared. */
function extended(head: number, since: number, tokenThere: string | null, token: string | null): boolean {
  return head >= since && tokenThere === token && (since === 0 || token !== null);
}
