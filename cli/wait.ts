import { durationText } from '../runtime/domain/duration.ts';
import type { Context } from './context.ts';
import { exitCodes, Failure } from './failure.ts';
import { duration, negated, type Flag, type FlagValues } from './flags.ts';
import { createProgress } from './progress.ts';

const waitFlag: Flag<boolean> = { ...negated('return immediately instead of waiting (default --wait)'), either: true };

/** For commands that wait until their operation ends. */
export const waitFlags = {
  wait: waitFlag,
  timeout: duration('<duration>', 'how long to wait, such as 90s or 10m (default 5m)'),
};

export type WaitFlags = FlagValues<typeof waitFlags>;

/** The result at the end of the wait; until then the progress, which is printed when it changes. */
export type Step<Value> = { done: Value } | { progress: string };

const pauseMs = 500;
const defaultSeconds = 300;

/**
 * Calls `read` every 500 ms until it returns a result, and shows its progress on stderr. Ctrl-C ends the wait, not the
 * operation.
 * @param check the command that shows the current state, for the hint
 * @throws Failure `timeout` (exit code 3) or `interrupted` (130)
 */
export async function waitFor<Value>(
  context: Context,
  flags: Pick<WaitFlags, 'timeout'>,
  read: () => Promise<Step<Value>>,
  check: string,
): Promise<Value> {
  const { clock, onInterrupt } = context;
  const hint = `check with: ${check}`;
  const seconds = flags.timeout ?? defaultSeconds;
  const startedAt = clock.monotonic();
  const progress = createProgress(context);
  const interrupted = Promise.withResolvers<never>();
  // Avoids an unhandled rejection when Ctrl-C arrives while nothing awaits the promise.
  interrupted.promise.catch(() => undefined);
  const removeListener = onInterrupt?.(() => {
    const options = { code: 'interrupted', hint, exitCode: exitCodes.interrupted };
    interrupted.reject(new Failure('Stopped waiting. The operation continues.', options));
  });
  try {
    for (;;) {
      const step = await Promise.race([read().catch(retryTemporary), interrupted.promise]);
      if ('done' in step) return step.done;
      const elapsed = (clock.monotonic() - startedAt) / 1000;
      progress.show(step.progress, elapsed);
      if (elapsed >= seconds) {
        throw new Failure(
          `Timed out after ${durationText(seconds)}; the operation continues. Last status: ${step.progress.replace(/\.$/, '')}.`,
          { code: 'timeout', hint, exitCode: exitCodes.timeout },
        );
      }
      await Promise.race([clock.sleep(pauseMs), interrupted.promise]);
    }
  } finally {
    progress.clear();
    removeListener?.();
  }
}

/** Keeps waiting after a temporary error, since operations continue while the API restarts. */
function retryTemporary(error: unknown): { progress: string } {
  if (isTemporary(error)) return { progress: 'the platform does not respond; retrying' };
  throw error;
}

/** Whether an error may be temporary: the API was unreachable or unavailable. */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof Failure)) return false;
  const { code } = error;
  return code === 'unreachable' || code === 'unavailable' || (code?.startsWith('http_5') ?? false);
}

/** Waits until `read` fails with `not_found`. @param check as for {@link waitFor} */
export async function waitForRemoval(
  context: Context,
  flags: Pick<WaitFlags, 'timeout'>,
  { subject, read, check }: { subject: string; read: () => Promise<unknown>; check: string },
): Promise<void> {
  await waitFor(
    context,
    flags,
    async () => {
      try {
        await read();
      } catch (error) {
        if (error instanceof Failure && error.code === 'not_found') return { done: true };
        throw error;
      }
      return { progress: `deleting ${subject}` };
    },
    check,
  );
}
