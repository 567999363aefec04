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

/** Bounds what runs at once. The keys, such as projects, get places in turn, so one that asks much delays no other. */
export interface FairPlaces {
  /**
   * Waits for a place. @returns leaves the place; may be called more than once
   * @throws PlacesFull, also later, for a key that has fewer waiting; the signal's reason when it aborts first
   */
  enter(key: string, signal?: AbortSignal): Promise<() => void>;
  /** Places that are taken. */
  active(): number;
}

interface Waiter {
  resolve: (leave: () => void) => void;
  reject: (error: Error) => void;
}

export function createFairPlaces({ total, perKey, waitingPerKey, waitingTotal }: PlaceLimits): FairPlaces {
  const taken = new Map<string, number>();
  /** The first key is the next to get a place. */
  const waiting = new Map<string, Waiter[]>();
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
  const admit = () => {
    for (const [key, waiters] of waiting) {
      if (active >= total) return;
      if (!isFree(key)) continue;
      const waiter = waiters.shift();
      waiting.delete(key);
      // The key gets its next place after all others.
      if (waiters.length > 0) waiting.set(key, waiters);
      waitingCount -= 1;
      waiter?.resolve(take(key));
    }
  };

  /** Refuses the newest waiter of the key that has most of them, for a key that has fewer. @throws PlacesFull if none has */
  const displace = (count: number) => {
    let most: Waiter[] = [];
    for (const waiters of waiting.values()) if (waiters.length > most.length) most = waiters;
    const newest = most.length >= count + 2 ? most.pop() : undefined;
    if (!newest) throw new PlacesFull('too many wait');
    waitingCount -= 1;
    newest.reject(new PlacesFull('others wait, too'));
  };

  return {
    active: () => active,
    async enter(key, signal) {
      signal?.throwIfAborted();
      const waiters = waiting.get(key) ?? [];
      if (waiters.length === 0 && isFree(key)) return take(key);
      if (waiters.length >= waitingPerKey) throw new PlacesFull('too many wait');
      if (waitingCount >= waitingTotal) displace(waiters.length);
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const waiter = { resolve, reject };
      waiters.push(waiter);
      waiting.set(key, waiters);
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
