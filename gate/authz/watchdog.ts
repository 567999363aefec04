import { Worker } from 'node:worker_threads';

/** The main thread takes a step at least this often. */
const beatEveryMs = 250;
/** A main thread that took no step for so long does not come back soon enough: the process ends, and is started anew. */
const stallMs = 2_000;

export interface WatchdogOptions {
  /** The process's name, as in its log. */
  name: string;
}

/** Ends the process when its event loop stands still. */
export interface Watchdog {
  start(): void;
  stop(): Promise<void>;
}

/**
 * Watches the event loop from a thread of its own: when the loop took no step for 2 s, that thread writes one entry to
 * stdout and kills the process, so that clients get another replica's answers instead of none. Only time counts in which
 * the thread itself ran: a machine that slept, or a process that was stopped and continued, is left alone.
 */
export function createWatchdog({ name }: WatchdogOptions): Watchdog {
  let thread: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      if (thread) return;
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

/** What the thread is given. */
export interface WatchdogData {
  name: string;
  stallMs: number;
  /** One counter, which every step of the main thread raises. */
  beats: Int32Array;
}
