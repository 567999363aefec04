import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { lingerSeconds } from '../../infra/manifests/app.ts';
import type { Attempt, Outcome, Processor } from '../../runtime/bus/runner.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, Release } from '../../runtime/contracts/resources/app.ts';
import { settingsOf, withSettings } from '../../runtime/contracts/resources/app-settings.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { retriesExhaustedReason } from '../../runtime/workloads/retries-exhausted.ts';
import { withEnvironmentSecret } from '../../runtime/workloads/environment.ts';
import { isLiving } from '../../runtime/workloads/objects.ts';
import { ForeignObjectError } from '../../runtime/kube/children.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { rolloutDeadlineMs } from '../../runtime/queues/catalogue.ts';
import { failDeployment, type AutomaticRollback } from '../../runtime/records/automatic-rollback.ts';
import { endDeployment, startDeployment, succeedDeployment } from '../../runtime/records/deployments.ts';
import { ensureEnvironment } from './environment.ts';
import { lastLines, runningDigest } from './pods.ts';
import { findRollout, type Rollout } from './store.ts';

export interface RolloutDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get' | 'list' | 'create' | 'replace' | 'stream'>;
  /** Called with the name of each step, at which tests kill the process. */
  failpoint: (name: string) => void;
}

/** Attempts to write the App, which conflict with other writers, mostly the controller. */
const applyAttempts = 5;
/** Time-out of optional reads, in ms; well below the time-out of an attempt. */
const optionalReadMs = 4_000;
const minutes = rolloutDeadlineMs / 60_000;

/**
 * One step of a rollout: applies the deployment's release to its App, or ends the deployment when the release is available
 * or failed. It never waits: between steps the work row sleeps until the App's status changes or the deadline passes.
 * Every write depends on the state of the record, or on the version and release generation of the object, so that a step
 * may be interrupted anywhere, repeated, or run late.
 */
export function createRolloutProcessor({ pool, kube, failpoint }: RolloutDependencies): Processor {
  const logEnd = (
    { log }: Attempt,
    rollout: Rollout,
    outcome: { state: string; reason?: string; rollback?: AutomaticRollback },
  ) => {
    failpoint('rollout.ended');
    const { namespace, name: app, revision } = rollout;
    log.info({ namespace, app, revision, ...outcome }, 'deployment ended');
  };

  const end = async (
    attempt: Attempt,
    rollout: Rollout,
    state: 'superseded' | 'cancelled',
    reason: string,
  ): Promise<Outcome> => {
    failpoint('rollout.before-end');
    if (await endDeployment(pool, rollout.id, state, reason)) logEnd(attempt, rollout, { state, reason });
    return 'done';
  };

  const succeed = async (attempt: Attempt, rollout: Rollout): Promise<Outcome> => {
    const digest = rollout.digest ?? (await optional(attempt, () => runningDigest(kube, rollout)));
    failpoint('rollout.before-end');
    if (await succeedDeployment(pool, rollout.id, digest)) logEnd(attempt, rollout, { state: 'succeeded' });
    return 'done';
  };

  /** @param app where its release may have been applied, which is then rolled back */
  const fail = async (attempt: Attempt, rollout: Rollout, reason: string, app?: Stored<App>): Promise<Outcome> => {
    const applied = app !== undefined && isApplied(rollout, app);
    const logLines = applied ? await optional(attempt, () => lastLines(kube, rollout)) : undefined;
    failpoint('rollout.before-end');
    const { ended: done, rollback } = await failDeployment(
      pool,
      rollout.id,
      logLines === undefined ? reason : `${reason}\nThe last lines of its log:\n${logLines}`,
      { applied: applied || (!app && rollout.state === 'rolling_out'), autoRollback: app?.spec.autoRollback ?? true },
    );
    if (done) logEnd(attempt, rollout, { state: 'failed', reason, ...(rollback && { rollback }) });
    return 'done';
  };

  /** Writes the release unless the App has it or a newer one. @returns the latest App */
  const apply = async (rollout: Rollout, read: Stored<App>): Promise<Stored<App> | undefined> => {
    let app: Stored<App> | undefined = read;
    for (let attempt = 1; ; attempt++) {
      if (!app || !isLiving(app, rollout.workloadId) || (app.spec.release?.generation ?? 0) >= rollout.revision)
        return app;
      const environment = await ensureEnvironment(kube, app, rollout);
      failpoint('rollout.before-apply');
      try {
        const applied = await kube.replace<App>(withRelease(app, rollout, environment));
        failpoint('rollout.applied');
        return applied;
      } catch (error) {
        const retry = (isKubeError(error, 409) && attempt < applyAttempts) || isKubeError(error, 404);
        if (!retry) throw error;
        app = await kube.get<App>(kinds.App, rollout.name, rollout.namespace);
      }
    }
  };

  /** Ends the deployment by the App's status, or waits for it until the deadline. */
  const settle = (attempt: Attempt, rollout: Rollout, app: Stored<App>): Promise<Outcome> | Outcome => {
    const status = app.status?.release;
    if (status?.deploymentId === rollout.id && status.generation === rollout.revision) {
      if (status.phase === 'available') return succeed(attempt, rollout);
      if (status.phase === 'failed') {
        return fail(attempt, rollout, status.message ?? 'The new pods did not become ready.', app);
      }
    }
    if (rollout.overdue) return fail(attempt, rollout, overdueReason(app), app);
    return { again: rollout.deadline };
  };

  const step = async (attempt: Attempt, rollout: Rollout): Promise<Outcome> => {
    let app = await kube.get<App>(kinds.App, rollout.name, rollout.namespace);
    const isStarted = rollout.state === 'rolling_out';
    try {
      if (app && !isStarted && !rollout.overdue) app = await apply(rollout, app);
    } catch (error) {
      // Retrying does not help: a variable of the app is invalid, or another object has the Secret's name.
      if (error instanceof Problem || error instanceof ForeignObjectError) {
        return fail(attempt, rollout, error.message, app);
      }
      throw error;
    }
    if (!app || !isLiving(app, rollout.workloadId)) return end(attempt, rollout, 'cancelled', 'The app was deleted.');
    if (!isApplied(rollout, app)) {
      const newest = app.spec.release?.generation ?? 0;
      if (newest >= rollout.revision) return end(attempt, rollout, 'superseded', `Superseded by revision ${newest}.`);
      // A release that was removed from the App on purpose is not written again.
      const reason = isStarted ? 'The release was removed from the App. Deploy again.' : notStartedReason;
      return fail(attempt, rollout, reason, app);
    }
    if (!isStarted) {
      const applied = { settings: settingsOf(app.spec), envSecret: app.spec.release?.envSecret };
      // If a newer deployment superseded this one meanwhile, its own rollout continues.
      if (!(await startDeployment(pool, rollout.id, applied))) return 'done';
      failpoint('rollout.recorded');
    }
    return settle(attempt, rollout, app);
  };

  return async (attempt) => {
    const rollout = await findRollout(pool, attempt.recordId);
    if (!rollout || hasEnded(rollout.state)) return 'done';
    try {
      return await step(attempt, rollout);
    } catch (error) {
      if (!attempt.last && !rollout.expired) throw error;
      attempt.log.error({ err: error, deploymentId: rollout.id }, 'rollout failed after all retries');
      const app = await optional(attempt, () => kube.get<App>(kinds.App, rollout.name, rollout.namespace));
      return fail(attempt, rollout, retriesExhaustedReason(error, { what: 'release', work: 'rollout' }), app);
    }
  };
}

/**
 * The App with the release and the name of its environment Secret, which is also added to the App's annotation, and with
 * the settings that a rollback restores. All are written at once, so that they are applied together or not at all.
 */
function withRelease(app: Stored<App>, rollout: Rollout, envSecret: string | undefined): Stored<App> {
  const { restores, keptSettings } = rollout;
  const spec = restores === 'config' && keptSettings ? withSettings(app.spec, keptSettings) : app.spec;
  const release = releaseOf(rollout);
  if (envSecret === undefined) return { ...app, spec: { ...spec, release } };
  const annotations = withEnvironmentSecret(app, envSecret);
  return { ...app, metadata: { ...app.metadata, annotations }, spec: { ...spec, release: { ...release, envSecret } } };
}

function isApplied(rollout: Rollout, { spec }: Stored<App>): boolean {
  return spec.release?.generation === rollout.revision && spec.release.deploymentId === rollout.id;
}

function releaseOf({ revision, id, image, digest }: Rollout): Release {
  return { generation: revision, deploymentId: id, image, ...(digest !== null && { digest }), lingerSeconds };
}

/** Reads something that a deployment can end without; logs errors. */
async function optional<T>({ log }: Attempt, read: () => Promise<T | undefined>): Promise<T | undefined> {
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

const notStartedReason = `The rollout did not start within ${minutes} minutes. Deploy again.`;

function overdueReason({ status }: Stored<App>): string {
  const detail = status?.message === undefined ? '' : ` The app reports: ${status.message}`;
  return `The new version did not become ready within ${minutes} minutes. Check the app's logs, then deploy again.${detail}`;
}
