/** Shorter than the pod's grace period of 30 s. */
const endMaxMs = 24_000;

/** The scheduled time of a run: the name of a CronJob's run ends in minutes since 1970. For other runs, now. */
function dueTime({ SVC_TRIGGER: trigger, SVC_RUN: run = '' }) {
  const minutes = trigger === 'cron' ? /-(\d+)$/.exec(run)?.[1] : undefined;
  return new Date(minutes === undefined ? Date.now() : Number(minutes) * 60_000).toISOString();
}

/**
 * Calls the handler once with `{schedule, time}`, then exits: with 0 if the handler succeeds, otherwise with 1 and the error
 * in the log. On SIGTERM it aborts `context.signal` and gives the handler until {@link endMaxMs} to finish.
 */
export async function runOnce(handler, { env, log, die, inRequest }) {
  const { SVC_TRIGGER: trigger, SVC_SCHEDULE: schedule, SVC_RUN: run = crypto.randomUUID() } = env;
  const shutdown = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => {
      shutdown.abort();
      setTimeout(() => die('the run did not finish within the shutdown period and was stopped'), endMaxMs).unref();
    });
  }
  process.once('beforeExit', () => die('the handler never finished: it awaits a promise that nothing resolves'));
  const startedAt = performance.now();
  await inRequest(run, async () => {
    try {
      await handler({ schedule, time: dueTime(env) }, { trigger, run, requestId: run, signal: shutdown.signal });
    } catch (error) {
      die(`the handler failed: ${error?.message ?? error}`, error);
    }
    log('info', 'run succeeded', { trigger, ms: Math.round(performance.now() - startedAt) });
    process.exit(0);
  });
}
