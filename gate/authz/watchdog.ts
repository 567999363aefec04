import { Worker } from 'node:worker_threads';

/** Interval at which the main thread increments the counter. */
const beatEveryMs = 250;
/** The process is killed, and then restarted, when its main thread is blocked for this long. */
const stallMs = 2_000;

export interface WatchdogOptions {
  /** The process name in the log entry. */
  name: string;
}

/** Kills the process when its event loop is blocked. */
export interface Watchdog {
  start(): void;
  stop(): Promise<void>;
}

/**
 * Watches the event loop from a separate thread. When the loop is blocked for 2 s, the thread writes one log entry to
 * stdout and kills the process, so that another replica gets the requests. Time in which the thread itself did not run,
 * because the machine slept or the process was stopped, does not count.
 */
export function createWatchdog({ name }: WatchdogOptions): Watchdog {
  let thread: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      const workerData: WatchdogData = { name, stallMs, beats };
      thread = new Worker(new URL('./watchdog-thread.js', import.meta.url), { workerData, execArgv: [] });
      thread.unref();
      timer = setInterval(() => Atomics.add(beats, 0, 1), beatEveryMs);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await thread?.terminate();
      thread = undefined;
    },
  };
}

/** The data that the thread gets. */
export interface WatchdogData {
  name: string;
  stallMs: number;
  /** One counter that the main thread increments. */
  beats: Int32Array;
}
