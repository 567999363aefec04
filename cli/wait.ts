import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import { duration, unless, type FlagValues } from './flags.ts';

/** The flags of every command that waits for the end of what it started. */
export const waitFlags = {
  wait: unless('return at once instead of waiting for the end'),
  timeout: duration('<duration>', 'how long to wait, such as 90s or 10m (default 5m)'),
};

export type WaitFlags = FlagValues<typeof waitFlags>;

/** Whether the wait is over; `progress` is said once for each new text. */
export type Step<Value> = { done: Value } | { progress: string };

const pauseMs = 500;
const defaultSeconds = 300;

/**
 * Looks until `look` reports the end, saying on stderr what changes.
 * @throws Failure (`timeout`) with `hint` when the time is over; what was started goes on
 */
export async function waitFor<Value>(
  context: Context,
  flags: Pick<WaitFlags, 'timeout'>,
  look: () => Promise<Step<Value>>,
  hint: string,
): Promise<Value> {
  const { clock, say } = context;
  const seconds = flags.timeout ?? defaultSeconds;
  const deadline = clock.monotonic() + seconds * 1000;
  let said = '';
  for (;;) {
    const step = await look().catch(passing);
    if ('done' in step) return step.done;
    if (step.progress !== said) say(step.progress);
    said = step.progress;
    if (clock.monotonic() >= deadline) {
      throw new Failure(`This did not end within ${seconds} seconds: ${step.progress}.`, { code: 'timeout', hint });
    }
    await clock.sleep(pauseMs);
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
