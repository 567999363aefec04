import type { WatchMessage } from '../../../../runtime/contracts/api/watch.ts';

/** Longer than the silence between two lines of a stream that works (15 s). */
const silenceMs = 40_000;
const backoffMs = { first: 1_000, last: 30_000 };

interface ChangesOptions {
  /** Opens the stream, after the message with this cursor. @throws ApiError */
  open: (cursor: string | undefined, signal: AbortSignal) => AsyncGenerator<WatchMessage | undefined, void>;
  /** Gets each change, or `all` when changes may have been missed. */
  onChange: (change: WatchMessage | 'all') => void;
  /** Gets whether the stream is interrupted, and will be opened again. */
  onInterrupted: (isInterrupted: boolean) => void;
  /** Whether opening it again is of no use. `onChange` then gets `all`, so that the pages say why. */
  isFinal: (error: unknown) => boolean;
  /** Resolves after `ms`, or when the signal aborts. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Reads the changes of a project for as long as a page shows them. */
export interface Changes {
  start(): void;
  /** Closes the stream; the next start continues where it was. */
  stop(): void;
}

/** A reader of an event stream, which opens it again after each end, from where it was (docs/reference/api.md). */
export function createChanges({ open, onChange, onInterrupted, isFinal, pause }: ChangesOptions): Changes {
  let cursor: string | undefined;
  let reading: AbortController | undefined;

  /** Reads one stream. @returns whether it had begun */
  const readOnce = async (signal: AbortSignal): Promise<boolean> => {
    const silent = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const watch = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(new Error('the stream is silent')), silenceMs);
    };
    let hasBegun = false;
    try {
      watch();
      for await (const message of open(cursor, AbortSignal.any([signal, silent.signal]))) {
        watch();
        if (!message) continue;
        hasBegun = true;
        onInterrupted(false);
        // What was read before the first message of the first stream may be older than the message.
        if (cursor === undefined || message.type === 'reset') onChange('all');
        else if (message.type !== 'ready') onChange(message);
        ({ cursor } = message);
      }
    } finally {
      clearTimeout(timer);
    }
    return hasBegun;
  };

  const read = async (signal: AbortSignal): Promise<void> => {
    let failures = 0;
    while (!signal.aborted) {
      try {
        failures = (await readOnce(signal)) ? 0 : failures + 1;
      } catch (error) {
        if (signal.aborted) return;
        if (isFinal(error)) {
          onChange('all');
          return;
        }
        failures += 1;
      }
      if (signal.aborted) return;
      if (failures > 0) onInterrupted(true);
      // Browsers of many people must not come back at the same moment.
      const spread = 0.5 + Math.random() / 2;
      await pause(spread * Math.min(backoffMs.first * 2 ** failures, backoffMs.last), signal);
    }
  };

  return {
    start() {
      if (reading) return;
      reading = new AbortController();
      void read(reading.signal);
    },
    stop() {
      reading?.abort();
      reading = undefined;
      onInterrupted(false);
    },
  };
}
