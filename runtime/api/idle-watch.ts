import type { Clock } from '../domain/clock.ts';

/** Watches a session for silence. */
export interface IdleWatch {
  /** Something was sent. */
  touch(): void;
  stop(): void;
}

/** Calls `onIdle` once when `touch` was not called for `idleMs`. */
export function watchIdle(clock: Clock, idleMs: number, onIdle: () => void): IdleWatch {
  const stopped = new AbortController();
  let active = clock.monotonic();
  const watch = async () => {
    for (let rest = idleMs; rest > 0; rest = active + idleMs - clock.monotonic()) {
      await clock.sleep(rest, stopped.signal);
    }
    onIdle();
  };
  // It rejects when it is stopped.
  watch().catch(() => undefined);
  return {
    touch() {
      active = clock.monotonic();
    },
    stop: () => stopped.abort(),
  };
}

/** Why a silent session is closed. */
export function idleReason(idleMs: number): string {
  return `Nothing was sent for ${Math.round(idleMs / 60_000)} minutes.`;
}
