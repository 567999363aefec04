import type { Clock } from '../domain/clock.ts';
import type { Id } from '../domain/ids.ts';

/** The result of one check. */
interface Check<T> {
  value: T;
  /** Whether to stop waiting. */
  done: boolean;
}

/** Waits for changes to records that PostgreSQL announces by NOTIFY with the record's id. */
export interface NotifyWaiter {
  /** The callback of a listener on the channel. */
  notified(payload: string | undefined): void;
  /**
   * Runs `check` until it is done, `ms` have passed, `signal` is aborted or the waiter stops, and returns its last value.
   * Between two checks it waits for a notification about `id`, at most `everyMs`, since notifications may be lost.
   */
  waitFor<T>(
    id: Id,
    options: { ms: number; everyMs: number; signal: AbortSignal },
    check: () => Promise<Check<T>>,
  ): Promise<T>;
  /** Ends all waits. */
  stop(): void;
}

export function createNotifyWaiter({ clock }: { clock: Clock }): NotifyWaiter {
  const stopping = new AbortController();
  const waiting = new Map<Id, Set<() => void>>();

  const wake = (id: Id) => {
    for (const notify of waiting.get(id) ?? []) notify();
  };

  return {
    notified(payload) {
      if (payload !== undefined) wake(payload);
      // After a reconnection: notifications may have been lost.
      else for (const id of waiting.keys()) wake(id);
    },
    async waitFor(id, { ms, everyMs, signal }, check) {
      const deadline = clock.monotonic() + ms;
      let notification: AbortController;
      const notify = () => notification.abort();
      const callbacks = waiting.get(id) ?? new Set();
      waiting.set(id, callbacks.add(notify));
      try {
        for (;;) {
          // Before the check, so that a notification during the check is not lost.
          notification = new AbortController();
          const { value, done } = await check();
          const remainingMs = deadline - clock.monotonic();
          if (done || remainingMs <= 0 || signal.aborted || stopping.signal.aborted) return value;
          const wakeUp = AbortSignal.any([notification.signal, signal, stopping.signal]);
          await clock.sleep(Math.min(remainingMs, everyMs), wakeUp).catch(() => undefined);
        }
      } finally {
        callbacks.delete(notify);
        if (callbacks.size === 0) waiting.delete(id);
      }
    },
    stop: () => stopping.abort(),
  };
}
