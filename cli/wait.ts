import { durationText } from '../runtime/domain/duration.ts';
import type { Context } from './context.ts';
import { exitCodes, Failure } from './failure.ts';
import { duration, unless, type Flag, type FlagValues } from './flags.ts';
import { createProgress } from './progress.ts';

/** On unless told otherwise; `--wait` says so in scripts. */
const waitFlag: Flag<boolean> = {
  ...unless('return at once instead of waiting for the end (--wait: the default)'),
  either: true,
};

/** The flags of every command that waits for the end of what it started. */
export const waitFlags = {
  wait: waitFlag,
  timeout: duration('<duration>', 'how long to wait, such as 90s or 10m (default 5m)'),
};

export type WaitFlags = FlagValues<typeof waitFlags>;

/** Whether the wait is over; `progress` is said once for each new text. */
export type Step<Value> = { done: Value } | { progress: string };

const pauseMs = 500;
const defaultSeconds = 300;

/**
 * Looks until `look` reports the end, saying on stderr how far it is. Ctrl-C ends the waiting, never what was started.
 * @throws Failure with `hint`: `timeout` (exit code 3) when the time is over, `interrupted`
 */
export async function waitFor<Value>(
  context: Context,
  flags: Pick<WaitFlags, 'timeout'>,
  look: () => Promise<Step<Value>>,
  hint: string,
): Promise<Value> {
  const { clock, onInterrupt } = context;
  const seconds = flags.timeout ?? defaultSeconds;
  const began = clock.monotonic();
  const progress = createProgress(context);
  const interrupted = Promise.withResolvers<never>();
  // Unheard while nothing is awaited.
  interrupted.promise.catch(() => undefined);
  const listening = onInterrupt?.(() => {
    const options = { code: 'interrupted', hint, exitCode: exitCodes.interrupted };
    interrupted.reject(new Failure('The waiting was interrupted; what was started goes on.', options));
  });
  try {
    for (;;) {
      const step = await Promise.race([look().catch(passing), interrupted.promise]);
      if ('done' in step) return step.done;
      const passed = (clock.monotonic() - began) / 1000;
      progress.show(step.progress, passed);
      if (passed >= seconds) {
        throw new Failure(`This did not end within ${durationText(seconds)}: ${step.progress}.`, {
          ...{ code: 'timeout', hint, exitCode: exitCodes.timeout },
        });
      }
      await Promise.race([clock.sleep(pauseMs), interrupted.promise]);
    }
  } finally {
    progress.clear();
    listening?.();
  }
}

/** What has begun goes on while the API is replaced or restarts, so a wait outlasts that. */
function passing(error: unknown): { progress: string } {
  const code = error instanceof Failure ? error.code : undefined;
  if (code === 'unreachable' || code === 'unavailable' || code?.startsWith('http_5')) {
    return { progress: 'the platform does not answer; trying again' };
  }
  throw error;
}

/** Waits until the API answers `not_found`. */
export async function waitForRemoval(
  context: Context,
  flags: Pick<WaitFlags, 'timeout'>,
  what: string,
  look: () => Promise<unknown>,
): Promise<void> {
  await waitFor(
    context,
    flags,
    async () => {
      try {
        await look();
      } catch (error) {
        if (error instanceof Failure && error.code === 'not_found') return { done: true };
        throw error;
      }
      return { progress: `deleting ${what}` };
    },
    'it goes on; look again later',
  );
}
