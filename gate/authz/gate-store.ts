import type { Id } from '../../runtime/domain/ids.ts';
import type { CalendarDay, Period } from '../../runtime/domain/period.ts';

/** A point of one feed's history. */
export interface FeedPosition {
  feedId: Id;
  version: number;
  /** The mark of the change at `version`; null where there is none (an empty feed, or one that was cut off before). */
  token: string | null;
}

/** A point of the history of usage. */
export interface UsagePosition {
  version: number;
  /** The mark of that version; null where there is none. */
  token: string | null;
}

/** Up to where a view has applied the two histories. */
export interface ViewPosition {
  feed: FeedPosition;
  usage: UsagePosition;
}

export interface PlanRow {
  id: Id;
  requestsPerSecond: number;
  burst: number;
  /** Both null without a quota. */
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
  /** Milliseconds since the epoch; null for never. */
  expiresAt: number | null;
  /** Null for every client. */
  allowedCidrs: string[] | null;
}

export interface AppRow {
  id: Id;
  environmentId: Id;
  namespace: string;
  name: string;
}

/** What the other replicas have allowed a key in the current period of its plan's quota. */
export interface OthersRow {
  keyId: Id;
  allowed: number;
}

/** Whether a replica's process life may still write usage; `missing` when it was never recorded, or is not any more. */
export type ReplicaState = 'open' | 'closed' | 'missing';

/** What a poll learns; all of one moment. */
export interface Head {
  /** False on a standby: what it says may be old. */
  primary: boolean;
  position: ViewPosition;
  /** The marks that the two histories have at the versions asked about. */
  tokensThere: { feed: string | null; usage: string | null };
  replica: ReplicaState;
}

/** Whose usage is meant, and of which periods. */
export interface UsageQuestion {
  /** All but this one's. */
  incarnation: Id;
  calendar: CalendarDay;
}

export interface ChangesQuestion extends UsageQuestion {
  since: ViewPosition;
  /** Read the usage of all keys, not only of those for which something changed. */
  allUsage: boolean;
  /** The period of a plan's quota as known so far: another one concerns the usage of all of its keys. */
  periodOf: (planId: Id) => Period | undefined;
}

/** What changed since a position, as of the moment `position`. */
export interface Changes {
  primary: boolean;
  position: ViewPosition;
  plans: PlanRow[];
  keys: KeyRow[];
  apps: AppRow[];
  gone: { plans: Id[]; keys: Id[]; apps: Id[] };
  /** Of the keys with a quota that are concerned; those of whom nothing is known with 0, unless it is of all. */
  others: OthersRow[];
  allUsage: boolean;
}

/** Takes a whole view in pieces, plans before keys; between two pieces the event loop runs. */
export interface LoadSink {
  plans(rows: PlanRow[]): void;
  apps(rows: AppRow[]): void;
  keys(rows: KeyRow[]): void;
  others(rows: OthersRow[]): void;
}

/** Absolute counts of one process life, a row for each key and UTC day. */
export interface UsageColumns {
  keyIds: Id[];
  days: string[];
  allowed: number[];
  rateDenied: number[];
  quotaDenied: number[];
}

/**
 * One connection to the store. Calls are made one after the other. One that fails leaves it unusable, and one that takes
 * too long is given up by the caller: end it then.
 */
export interface GateSession {
  /** The heads of both histories. @param since undefined before the first load */
  head(since: ViewPosition | undefined, incarnation: Id): Promise<Head>;
  /** Undefined when it cannot be told: the history is another one, has a gap, or too much changed. Load then. */
  changes(question: ChangesQuestion): Promise<Changes | undefined>;
  /** Reads everything as of one moment. */
  load(question: UsageQuestion, sink: LoadSink): Promise<{ primary: boolean; position: ViewPosition }>;
  /** Records a process life; one that is recorded stays as it is. */
  register(incarnation: Id, name: string): Promise<void>;
  /** Tells that it is alive, and how far its view is. */
  report(incarnation: Id, feed: FeedPosition): Promise<void>;
  /** Ends a process life, if it has not ended: it can write no more. Answers with the last batch that it wrote, or 0. */
  close(incarnation: Id): Promise<number>;
  /**
   * Writes a batch of usage, numbered from 1; it may be repeated with the same content. False, and nothing is written,
   * when the process life is not open.
   */
  flush(incarnation: Id, batch: number, columns: UsageColumns): Promise<boolean>;
  /** Drops the connection, in the middle of whatever it does. Never throws. */
  end(): void;
}

/** Where a replica gets what it knows, and leaves what it counts: PostgreSQL, or a test's model of it. */
export interface GateStore {
  /**
   * Opens a connection. It may hang; the caller does not wait for it for long.
   * @param nudge called when the feed has changed, or the connection is lost; without it neither is told
   */
  connect(nudge?: () => void): Promise<GateSession>;
}

/** Whether what was applied up to `since` is the beginning of the histories that `head` ends. */
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

/** Without a mark at a version other than the first, a history cannot be recognised. */
function extended(head: number, since: number, tokenThere: string | null, token: string | null): boolean {
  return head >= since && tokenThere === token && (since === 0 || token !== null);
}
