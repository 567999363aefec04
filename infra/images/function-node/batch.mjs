/** Below the grace period of 30 s. */
const endMaxMs = 24_000;

/** When a run was due: a CronJob's runs end their name in the minutes since 1970. Any other run is for now. */
function dueTime({ SVC_TRIGGER: trigger, SVC_RUN: run = '' }) {
  const minutes = trigger === 'cron' ? /-(\d+)$/.exec(run)?.[1] : undefined;
  return new Date(minutes === undefined ? Date.now() : Number(minutes) * 60_000).toISOString();
}

/**
 * Calls the handler once with `{schedule, time}`, and ends the process: with 0 once the handler has ended well, otherwise
 * with 1 and the error in the log. On SIGTERM `context.signal` aborts, and the handler has a moment left.
 */
export async function runOnce(handler, { env, log, die, within }) {
  const { SVC_TRIGGER: trigger, SVC_SCHEDULE: schedule, SVC_RUN: run = crypto.randomUUID() } = env;
  const ending = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => {
      ending.abort();
      setTimeout(() => die('the run was cut off, since it has to end'), endMaxMs).unref();
    });
  }
  process.once('beforeExit', () => die('the handler has not ended, and waits for something that never comes'));
  const began = performance.now();
  await within(run, async () => {
    try {
      await handler({ schedule, time: dueTime(env) }, { trigger, run, requestId: run, signal: ending.signal });
    } catch (error) {
      die(`the handler failed: ${error?.message ?? error}`, error);
    }
    log('info', 'run succeeded', { trigger, ms: Math.round(performance.now() - began) });
    process.exit(0);
  });
}
