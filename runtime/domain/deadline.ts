import type { Clock } from './clock.ts';

export interface Deadline {
  clock: Clock;
  /** Rejects at once when it aborts. */
  signal?: AbortSignal;
  ms: number;
  /** The name of the operation in the error. */
  what: string;
}

/**
 * Resolves as `work` does, and rejects after `ms` or when the signal aborts. It does not stop `work`, and ignores the
 * result of `work` after that.
 */
export async function withDeadline<T>({ clock, signal, ms, what }: Deadline, work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  // Not AbortSignal.any: each call would leave a reference on the long-lived signal.
  const abort = () => timer.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  const timeout = clock.sleep(ms, timer.signal).then(() => {
    throw new Error(`${what} took longer than ${ms} ms`);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    signal?.removeEventListener('abort', abort);
    timer.abort();
  }
}
