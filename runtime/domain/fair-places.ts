/** There is no place, and too many wait already. */
export class PlacesFull extends Error {
  override readonly name = 'PlacesFull';
}

export interface PlaceLimits {
  /** Places in all. */
  total: number;
  /** Places that one key can have. */
  perKey: number;
  /** How many of one key can wait for a place, and in all. */
  waitingPerKey: number;
  waitingTotal: number;
}

/**
 * Bounds what runs at once. A place that is left goes to a waiting key with the fewest places, and of several to the one
 * that has waited longest, also if it gave up meanwhile and came again: keys that ask much delay no other for longer than
 * the attempts that are under way.
 */
export interface FairPlaces {
  /**
   * Waits for a place. @returns leaves the place; may be called more than once
   * @throws PlacesFull, also later, for a key that has fewer waiting or none under way; the signal's reason when it aborts
   * first
   */
  enter(key: string, signal?: AbortSignal): Promise<() => void>;
  /** Places that are taken. */
  active(): number;
}

/** Keys whose turn is kept after they gave up, so that they do not wait behind those that came later. */
const keptTurns = 1_000;

interface Waiter {
  resolve: (leave: () => void) => void;
  reject: (error: Error) => void;
}

export function createFairPlaces({ total, perKey, waitingPerKey, waitingTotal }: PlaceLimits): FairPlaces {
  const taken = new Map<string, number>();
  const waiting = new Map<string, Waiter[]>();
  /** Since when a key waits, as a number that grows, in the order of these numbers. */
  const turns = new Map<string, number>();
  let nextTurn = 0;
  let active = 0;
  let waitingCount = 0;

  const take = (key: string) => {
    active += 1;
    taken.set(key, (taken.get(key) ?? 0) + 1);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      active -= 1;
      const left = (taken.get(key) ?? 1) - 1;
      if (left > 0) taken.set(key, left);
      else taken.delete(key);
      admit();
    };
  };
  const isFree = (key: string) => active < total && (taken.get(key) ?? 0) < perKey;
  const next = (): string | undefined => {
    const rank = (key: string) => [taken.get(key) ?? 0, turns.get(key) ?? nextTurn] as const;
    let best: string | undefined;
    for (const key of waiting.keys()) {
      if (!isFree(key)) continue;
      const [[count, turn], [bestCount, bestTurn]] = [rank(key), rank(best ?? key)];
      if (best === undefined || count < bestCount || (count === bestCount && turn < bestTurn)) best = key;
    }
    return best;
  };
  const admit = () => {
    for (let key = next(); key !== undefined; key = next()) {
      const waiters = waiting.get(key) ?? [];
      const waiter = waiters.shift();
      if (waiters.length === 0) waiting.delete(key);
      waitingCount -= 1;
      turns.delete(key);
      if (waiters.length > 0) beginTurn(key);
      waiter?.resolve(take(key));
    }
  };
  const beginTurn = (key: string) => {
    if (turns.has(key)) return;
    turns.set(key, nextTurn++);
    if (turns.size <= keptTurns) return;
    for (const each of turns.keys()) {
      if (waiting.has(each)) continue;
      turns.delete(each);
      return;
    }
  };

  /**
   * Refuses the newest waiter of the key that has most of them, for a key that has fewer, or of the key that has most
   * places, for a key that has neither a place nor a waiter. @throws PlacesFull if there is none
   */
  const displace = (key: string, count: number) => {
    const mostBy = (sizeOf: (each: string) => number) =>
      [...waiting.keys()].reduce<string | undefined>(
        (most, each) => (sizeOf(each) > (most === undefined ? 0 : sizeOf(most)) ? each : most),
        undefined,
      );
    const waitingOf = (each: string) => waiting.get(each)?.length ?? 0;
    let giving = mostBy(waitingOf);
    if (giving !== undefined && waitingOf(giving) < count + 2) giving = undefined;
    if (giving === undefined && count === 0 && !taken.has(key)) giving = mostBy((each) => taken.get(each) ?? 0);
    const waiters = giving === undefined ? undefined : waiting.get(giving);
    const newest = waiters?.pop();
    if (giving === undefined || !newest) throw new PlacesFull('too many wait');
    if (waiters?.length === 0) waiting.delete(giving);
    waitingCount -= 1;
    newest.reject(new PlacesFull('others wait, too'));
  };

  return {
    active: () => active,
    async enter(key, signal) {
      signal?.throwIfAborted();
      const waiters = waiting.get(key) ?? [];
      if (waiters.length === 0 && isFree(key)) {
        turns.delete(key);
        return take(key);
      }
      if (waiters.length >= waitingPerKey) throw new PlacesFull('too many wait');
      if (waitingCount >= waitingTotal) displace(key, waiters.length);
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const waiter = { resolve, reject };
      waiters.push(waiter);
      waiting.set(key, waiters);
      beginTurn(key);
      waitingCount += 1;
      const onAbort = () => {
        const index = waiters.indexOf(waiter);
        if (index < 0) return;
        waiters.splice(index, 1);
        if (waiters.length === 0) waiting.delete(key);
        waitingCount -= 1;
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        return await promise;
      } finally {
        signal?.removeEventListener('abort', onAbort);
      }
    },
  };
}
