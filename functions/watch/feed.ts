import { randomBytes } from 'node:crypto';
import type { WatchKind } from '../../runtime/contracts/api/watch.ts';
import type { Clock } from '../../runtime/domain/clock.ts';

/** Changes within this time are sent together, and those of one object as one, in ms. */
const collectMs = 200;
/** Maximum number of changes that are sent together; more become a reset. */
const pendingMax = 500;
/** Changes that a project keeps for streams that continue or are slow. */
const keptMax = 1_000;

/** What changed in a project. */
export interface Change {
  type: 'added' | 'modified' | 'deleted';
  kind: WatchKind;
  environment?: string;
  name?: string;
  id?: string;
  version?: string;
}

/** A change with its place in the feed. */
export interface FeedEvent {
  position: number;
  change: Change;
}

/**
 * The latest changes of one project, in this process. Its streams share it: each has only a position, so a slow one takes
 * no memory.
 */
export interface Feed {
  add(change: Change): void;
  /** Makes all streams check the rights of their callers. */
  checkAccess(): void;
  /** How often {@link checkAccess} was called. */
  accessChecks(): number;
  /** The position of the newest change. */
  end(): number;
  /** The changes after a position; undefined when some of them are no longer kept. */
  after(position: number): FeedEvent[] | undefined;
  cursorOf(position: number): string;
  /** The position of a cursor; undefined for one of another process or of an earlier feed, or one that is no cursor. */
  positionOf(cursor: string): number | undefined;
  /** Resolves when there is a change after `position`, or more access checks, and when the signal aborts. */
  next(state: { position: number; accessChecks: number }, signal: AbortSignal): Promise<void>;
  stop(): void;
}

export function createFeed(clock: Clock): Feed {
  const epoch = randomBytes(9).toString('base64url');
  const stopped = new AbortController();
  const pending = new Map<string, Change>();
  let overflows = false;
  let events: FeedEvent[] = [];
  let newest = 0;
  /** Changes after this position are kept. */
  let keptAfter = 0;
  let accessChecks = 0;
  const waiting = new Set<() => void>();

  const wake = () => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  const flush = () => {
    if (overflows) {
      // Every position before this one becomes unknown, and its stream resets.
      newest += 1;
      keptAfter = newest;
      events = [];
    } else for (const change of pending.values()) events.push({ position: ++newest, change });
    overflows = false;
    pending.clear();
    if (events.length > keptMax) events = events.slice(-keptMax);
    keptAfter = Math.max(keptAfter, newest - events.length);
    wake();
  };

  const cursorOf = (position: number) => `${epoch}.${position}`;

  return {
    add(change) {
      if (pending.size === 0 && !overflows) void clock.sleep(collectMs, stopped.signal).then(flush, () => undefined);
      const { kind, environment, name } = change;
      const key = JSON.stringify([kind, environment, name]);
      const earlier = pending.get(key);
      if (earlier || pending.size < pendingMax) pending.set(key, earlier ? merged(earlier, change) : change);
      else overflows = true;
    },
    checkAccess() {
      accessChecks += 1;
      wake();
    },
    accessChecks: () => accessChecks,
    end: () => newest,
    after: (position) =>
      position < keptAfter || position > newest ? undefined : events.filter((event) => event.position > position),
    cursorOf,
    positionOf(cursor) {
      const position = Number(cursor.slice(epoch.length + 1));
      return Number.isSafeInteger(position) && cursor === cursorOf(position) ? position : undefined;
    },
    async next(state, signal) {
      if (newest > state.position || accessChecks > state.accessChecks || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add(resolve);
      const onAbort = () => resolve();
      signal.addEventListener('abort', onAbort);
      try {
        await promise;
      } finally {
        waiting.delete(resolve);
        signal.removeEventListener('abort', onAbort);
      }
    },
    stop() {
      stopped.abort();
      wake();
    },
  };
}

/** Two changes of one object as one. */
function merged(first: Change, second: Change): Change {
  return first.type === 'added' && second.type === 'modified' ? { ...second, type: 'added' } : second;
}
