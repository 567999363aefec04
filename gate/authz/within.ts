import type { Clock } from '../../runtime/domain/clock.ts';

/** How long something may take, and what to call it. */
export interface Limit {
  clock: Clock;
  /** Ends the wait at once. */
  signal: AbortSignal;
  ms: number;
  what: string;
}

/** The work's result, or an error when it takes too long or the signal is aborted; the work itself goes on unheard. */
export async function within<T>({ clock, signal, ms, what }: Limit, work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  // Not AbortSignal.any: it would leave something behind on the long-lived signal each time.
  const abort = () => timer.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  const late = clock.sleep(ms, timer.signal).then(() => {
    throw new Error(`${what} took longer than ${ms} ms`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    signal.removeEventListener('abort', abort);
    timer.abort();
  }
}
