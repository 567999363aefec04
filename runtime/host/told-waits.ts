import type { Clock } from '../domain/clock.ts';
import type { Id } from '../domain/ids.ts';

/** What a look found, and whether it is what was waited for. */
export interface Look<T> {
  found: T;
  over: boolean;
}

/** Waits for what PostgreSQL tells of by NOTIFY, each about the id of a record, without asking again and again. */
export interface ToldWaits {
  /** Of a listener on the channel. */
  notified(payload: string | undefined): void;
  /**
   * Looks until it is over, `ms` have passed, `signal` is aborted or this stops, and answers what it found last. Between
   * two looks it waits for a word about `id`, which may be lost, or `everyMs`.
   */
  until<T>(
    id: Id,
    options: { ms: number; everyMs: number; signal: AbortSignal },
    look: () => Promise<Look<T>>,
  ): Promise<T>;
  /** Lets everybody go who waits. */
  stop(): void;
}

export function createToldWaits({ clock }: { clock: Clock }): ToldWaits {
  const stopping = new AbortController();
  const waiting = new Map<Id, Set<() => void>>();

  const wake = (id: Id) => {
    for (const each of waiting.get(id) ?? []) each();
  };

  return {
    notified(payload) {
      if (payload !== undefined) wake(payload);
      // Connected anew: what happened meanwhile was told to nobody.
      else for (const id of waiting.keys()) wake(id);
    },
    async until(id, { ms, everyMs, signal }, look) {
      const deadline = clock.monotonic() + ms;
      let told: AbortController;
      const tell = () => told.abort();
      const others = waiting.get(id) ?? new Set();
      waiting.set(id, others.add(tell));
      try {
        for (;;) {
          // Before the look: what comes right after it is told to this one.
          told = new AbortController();
          const { found, over } = await look();
          const left = deadline - clock.monotonic();
          if (over || left <= 0 || signal.aborted || stopping.signal.aborted) return found;
          const any = AbortSignal.any([told.signal, signal, stopping.signal]);
          await clock.sleep(Math.min(left, everyMs), any).catch(() => undefined);
        }
      } finally {
        others.delete(tell);
        if (others.size === 0) waiting.delete(id);
      }
    },
    stop: () => stopping.abort(),
  };
}
