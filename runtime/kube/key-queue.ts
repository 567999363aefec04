import type { Clock } from '../domain/clock.ts';
import { backoffMs } from './backoff.ts';

/** Back-off of a failing reconcile; up to about seventeen minutes. */
const retry = { baseMs: 5, maxMs: 1_000_000 };

/**
 * Keys that wait for a worker, each at most once. A key that is added while a worker has it is returned again afterwards,
 * never at the same time. A key has at most one delayed addition, which taking the key cancels.
 */
export interface KeyQueue {
  add(key: string): void;
  /** Adds the key after `ms`, unless an earlier addition is scheduled. */
  addAfter(key: string, ms: number): void;
  /** Adds the key after its back-off: 5 ms · 2^failures, at most 1,000 s. @returns the back-off in ms */
  retry(key: string): number;
  /** Resets the back-off of the key. */
  forget(key: string): void;
  /** Takes the next key, until {@link done}; undefined once the queue is closed. */
  take(): Promise<string | undefined>;
  done(key: string): void;
  /** Drops all keys and back-offs, and ignores further keys until {@link open}. Waiting workers get undefined. */
  close(): void;
  /** Accepts keys again after {@link close}. A new queue is open. */
  open(): void;
  /** The number of waiting keys. */
  depth(): number;
  /** Milliseconds since the oldest taken key was taken; 0 without any. */
  longestRunningMs(): number;
}

interface DelayedAdd {
  at: number;
  cancel: AbortController;
}

export function createKeyQueue(clock: Clock): KeyQueue {
  const waiting = new Set<string>();
  const running = new Map<string, number>();
  const changedWhileRunning = new Set<string>();
  const delayed = new Map<string, DelayedAdd>();
  const failures = new Map<string, number>();
  const takers: ((key: string | undefined) => void)[] = [];
  let closed = false;

  const assign = (key: string): string => {
    waiting.delete(key);
    running.set(key, clock.monotonic());
    delayed.get(key)?.cancel.abort();
    delayed.delete(key);
    return key;
  };

  const queue: KeyQueue = {
    add(key) {
      if (closed) return;
      if (running.has(key)) {
        changedWhileRunning.add(key);
        return;
      }
      const taker = waiting.has(key) ? undefined : takers.shift();
      if (taker) taker(assign(key));
      else waiting.add(key);
    },
    addAfter(key, ms) {
      if (closed) return;
      const at = clock.monotonic() + ms;
      const earlier = delayed.get(key);
      if (earlier && earlier.at <= at) return;
      earlier?.cancel.abort();
      const entry: DelayedAdd = { at, cancel: new AbortController() };
      delayed.set(key, entry);
      const due = () => {
        if (delayed.get(key) === entry) delayed.delete(key);
        queue.add(key);
      };
      // Rejected when it was cancelled.
      clock.sleep(ms, entry.cancel.signal).then(due, () => undefined);
    },
    retry(key) {
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      const ms = backoffMs(count, retry);
      queue.addAfter(key, ms);
      return ms;
    },
    forget(key) {
      failures.delete(key);
    },
    take() {
      if (closed) return Promise.resolve(undefined);
      const [key] = waiting;
      if (key !== undefined) return Promise.resolve(assign(key));
      return new Promise((resolve) => takers.push(resolve));
    },
    done(key) {
      running.delete(key);
      if (changedWhileRunning.delete(key)) queue.add(key);
    },
    close() {
      closed = true;
      waiting.clear();
      changedWhileRunning.clear();
      failures.clear();
      for (const { cancel } of delayed.values()) cancel.abort();
      delayed.clear();
      for (const taker of takers.splice(0)) taker(undefined);
    },
    open() {
      closed = false;
    },
    depth: () => waiting.size,
    longestRunningMs() {
      const oldest = Math.min(...running.values());
      return Number.isFinite(oldest) ? clock.monotonic() - oldest : 0;
    },
  };
  return queue;
}
