import type { Clock } from '../domain/clock.ts';

/** Work that is done again after each pause, one run at a time. */
export interface PeriodicTask {
  /** Does nothing when the task runs already. */
  start(): void;
  /** Aborts the pause and the signal of a run, and waits until the run has ended. */
  stop(): Promise<void>;
}

/** @param options.pauseMs the milliseconds from the end of a run to the next one; asked after each run */
export function createPeriodicTask(options: {
  clock: Clock;
  run: (signal: AbortSignal) => Promise<void>;
  pauseMs: () => number;
  /** Gets the error of a run. The next run follows as after a success. */
  onError: (error: unknown) => void;
  /** Whether there is a pause before the first run. */
  pauseFirst?: boolean;
}): PeriodicTask {
  const { clock, run, pauseMs, onError, pauseFirst = false } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;

  const pause = () => clock.sleep(pauseMs(), signal).catch(() => undefined);
  const repeat = async () => {
    if (pauseFirst) await pause();
    while (!signal.aborted) {
      try {
        await run(signal);
      } catch (error) {
        onError(error);
      }
      await pause();
    }
  };

  return {
    start() {
      running ??= repeat();
    },
    async stop() {
      stopping.abort(new Error('the task was stopped'));
      await running;
    },
  };
}
