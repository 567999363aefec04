import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Attempt, Outcome } from '../../runtime/bus/runner.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { failDeployment, type AutomaticRollback } from '../../runtime/records/automatic-rollback.ts';
import { saveCrashLog } from '../../runtime/records/crash-logs.ts';
import { endDeployment, succeedDeployment } from '../../runtime/records/deployments.ts';
import { isApplied } from './apply.ts';
import { crashLog, lastLines, runningDigest } from './pods.ts';
import type { Rollout } from './store.ts';

/** Time-out of optional reads, in ms; well below the time-out of an attempt. */
const optionalReadMs = 4_000;

/** Ends the deployment of a rollout, and logs it unless the deployment had ended before. */
export interface Outcomes {
  end(attempt: Attempt, rollout: Rollout, state: 'superseded' | 'cancelled', reason: string): Promise<Outcome>;
  succeed(attempt: Attempt, rollout: Rollout): Promise<Outcome>;
  /** @param app where its release may have been applied, which is then rolled back */
  fail(attempt: Attempt, rollout: Rollout, reason: string, app?: Stored<App>): Promise<Outcome>;
}

/** @param dependencies `failpoint` is called with the name of each step, at which tests kill the process */
export function createOutcomes({
  pool,
  kube,
  failpoint,
}: {
  pool: Pool;
  kube: Pick<KubeClient, 'list' | 'stream'>;
  failpoint: (name: string) => void;
}): Outcomes {
  const logEnd = (
    { log }: Attempt,
    { namespace, name: app, revision }: Rollout,
    outcome: { state: string; reason?: string; rollback?: AutomaticRollback },
  ) => {
    failpoint('rollout.ended');
    log.info({ namespace, app, revision, ...outcome }, 'deployment ended');
  };

  return {
    async end(attempt, rollout, state, reason) {
      failpoint('rollout.before-end');
      if (await endDeployment(pool, rollout.id, state, reason)) logEnd(attempt, rollout, { state, reason });
      return 'done';
    },

    async succeed(attempt, rollout) {
      const digest = rollout.digest ?? (await readOptional(attempt, () => runningDigest(kube, rollout)));
      failpoint('rollout.before-end');
      if (await succeedDeployment(pool, rollout.id, digest)) logEnd(attempt, rollout, { state: 'succeeded' });
      return 'done';
    },

    async fail(attempt, rollout, reason, app) {
      const applied = app !== undefined && isApplied(rollout, app);
      const log = applied ? await readOptional(attempt, () => crashLog(kube, rollout)) : undefined;
      // Before the end, after which a rollback removes the pod.
      if (log) await saveCrashLog(pool, rollout.id, log);
      const logLines = log && lastLines(log.text);
      failpoint('rollout.before-end');
      const { ended, rollback } = await failDeployment(
        pool,
        rollout.id,
        logLines === undefined ? reason : `${reason}\nThe last lines of its log:\n${logLines}`,
        { applied: applied || (!app && rollout.state === 'rolling_out'), autoRollback: app?.spec.autoRollback ?? true },
      );
      if (ended) logEnd(attempt, rollout, { state: 'failed', reason, ...(rollback && { rollback }) });
      return 'done';
    },
  };
}

/** Reads something that a deployment can end without; logs errors. */
export async function readOptional<T>({ log }: Attempt, read: () => Promise<T | undefined>): Promise<T | undefined> {
  const limit = new AbortController();
  const timeout = delay(optionalReadMs, undefined, { signal: limit.signal });
  try {
    return await Promise.race([read(), timeout]);
  } catch (error) {
    log.warn({ err: error }, 'pods of the release not read');
    return undefined;
  } finally {
    limit.abort();
    await timeout.catch(() => undefined);
  }
}
