/**
 * The only source of time in logic, so that tests can advance it without waiting.
 * `now` is the wall clock and may jump; use `monotonic` for intervals and freshness.
 */
export interface Clock {
  /** Wall-clock time. */
  now(): Date;
  /** Milliseconds on a clock that never goes back; only differences mean anything. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The maximum of Node's timers, which fire at once for longer times. */
const timerMaxMs = 2 ** 31 - 1;

/** The machine's clock. Its sleeps keep the process alive; abort them on shutdown. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const wait = (leftMs: number): NodeJS.Timeout =>
        setTimeout(
          () => {
            if (leftMs > timerMaxMs) {
              timer = wait(leftMs - timerMaxMs);
              return;
            }
            signal?.removeEventListener('abort', onAbort);
            resolve();
          },
          Math.min(leftMs, timerMaxMs),
        );
      let timer = wait(ms);
      signal?.addEventListener('abort', onAbort);
    }),
};
