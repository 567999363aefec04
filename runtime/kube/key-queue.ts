import type { Clock } from '../domain/clock.ts';
import { backoffMs } from './backoff.ts';

/** spec.md §8: attempts of a failing reconcile come up to about seventeen minutes apart. */
const retry = { baseMs: 5, maxMs: 1_000_000 };

/**
 * Keys that wait for a worker, each at most once. A key that is added while it is being worked on comes again after that,
 * never beside it. A key has one appointment at most: starting to work on it cancels a later one.
 */
export interface KeyQueue {
  add(key: string): void;
  /** Adds the key after `ms`, unless it comes earlier anyway. */
  addAfter(key: string, ms: number): void;
  /** Adds the key after its back-off: 5 ms · 2^failures, at most 1,000 s. The answer is that time in ms. */
  retry(key: string): number;
  /** The key did well: its back-off starts anew. */
  forget(key: string): void;
  /** The next key, which is then being worked on until {@link done}; undefined once the queue was closed. */
  take(): Promise<string | undefined>;
  done(key: string): void;
  /** Lets waiting workers go; keys are dropped from now on. */
  close(): void;
  /** Keys that wait for a worker now. */
  depth(): number;
  /** Ms for which the oldest work under way has been running; 0 for none. */
  longestRunningMs(): number;
}

interface Appointment {
  at: number;
  cancel: AbortController;
}

export function createKeyQueue(clock: Clock): KeyQueue {
  const waiting = new Set<string>();
  const running = new Map<string, number>();
  const again = new Set<string>();
  const appointments = new Map<string, Appointment>();
  const failures = new Map<string, number>();
  const takers: ((key: string | undefined) => void)[] = [];
  let closed = false;

  const hand = (key: string): string => {
    waiting.delete(key);
    running.set(key, clock.monotonic());
    appointments.get(key)?.cancel.abort();
    appointments.delete(key);
    return key;
  };

  const queue: KeyQueue = {
    add(key) {
      if (closed) return;
      if (running.has(key)) {
        again.add(key);
        return;
      }
      const taker = waiting.has(key) ? undefined : takers.shift();
      if (taker) taker(hand(key));
      else waiting.add(key);
    },
    addAfter(key, ms) {
      if (closed) return;
      const at = clock.monotonic() + ms;
      const known = appointments.get(key);
      if (known && known.at <= at) return;
      known?.cancel.abort();
      const appointment: Appointment = { at, cancel: new AbortController() };
      appointments.set(key, appointment);
      const due = () => {
        if (appointments.get(key) === appointment) appointments.delete(key);
        queue.add(key);
      };
      // Cancelled: the key came earlier.
      clock.sleep(ms, appointment.cancel.signal).then(due, () => undefined);
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
      if (key !== undefined) return Promise.resolve(hand(key));
      return new Promise((resolve) => takers.push(resolve));
    },
    done(key) {
      running.delete(key);
      if (again.delete(key)) queue.add(key);
    },
    close() {
      closed = true;
      waiting.clear();
      again.clear();
      for (const { cancel } of appointments.values()) cancel.abort();
      appointments.clear();
      for (const taker of takers.splice(0)) taker(undefined);
    },
    depth: () => waiting.size,
    longestRunningMs() {
      const oldest = Math.min(...running.values());
      return Number.isFinite(oldest) ? clock.monotonic() - oldest : 0;
    },
  };
  return queue;
}
