import type { Clock } from '../../runtime/domain/clock.ts';

/** What ends the wait of a held request without a release. */
interface HoldLimits {
  clock: Clock;
  /** The end of the hold, on the monotonic clock. */
  endsAt: number;
  /** The error at the end of the hold. */
  timeoutError: () => Error;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}

/**
 * Waits until `held` is resolved, which releases the request.
 * @throws what `held` is rejected with; the timeout error at the end of the hold; the signal's reason when it aborts
 */
export async function waitForRelease(
  held: PromiseWithResolvers<void>,
  { clock, endsAt, timeoutError, signal }: HoldLimits,
): Promise<void> {
  const over = new AbortController();
  signal.addEventListener('abort', () => held.reject(signal.reason), { once: true, signal: over.signal });
  clock.sleep(Math.max(0, endsAt - clock.monotonic()), over.signal).then(
    () => held.reject(timeoutError()),
    () => undefined,
  );
  try {
    await held.promise;
  } finally {
    over.abort();
  }
}
