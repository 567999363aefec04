import type { Pool } from 'pg';
import type { Attempt, Outcome, Processor } from '../../runtime/bus/runner.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { otherSettingsOf, settingsOf } from '../../runtime/contracts/resources/app-settings.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { unreadyBindings } from '../../runtime/workloads/bindings.ts';
import { retriesExhaustedReason } from '../../runtime/workloads/retries-exhausted.ts';
import { isLiving } from '../../runtime/workloads/objects.ts';
import { expectsSecrets } from '../../runtime/workloads/secrets.ts';
import { ForeignObjectError } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { rolloutDeadlineMs } from '../../runtime/queues/catalogue.ts';
import { startDeployment } from '../../runtime/records/deployments.ts';
import { applyRelease, isApplied } from './apply.ts';
import { EnvironmentPendingError } from './environment.ts';
import { createOutcomes, readOptional } from './outcomes.ts';
import { findRollout, type Rollout } from './store.ts';

export interface RolloutDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get' | 'list' | 'create' | 'replace' | 'stream'>;
  /** Called with the name of each step, at which tests kill the process. */
  failpoint: (name: string) => void;
}

const minutes = rolloutDeadlineMs / 60_000;

/**
 * One step of a rollout: applies the deployment's release to its App, or ends the deployment when the release is available
 * or failed. It never waits: between steps the work row sleeps until the App's status changes or the deadline passes.
 * Every write depends on the state of the record, or on the version and release generation of the object, so that a step
 * may be interrupted anywhere, repeated, or run late.
 */
export function createRolloutProcessor(dependencies: RolloutDependencies): Processor {
  const { pool, kube, failpoint } = dependencies;
  const outcomes = createOutcomes(dependencies);

  /** Ends the deployment by the App's status, or waits for it until the deadline. */
  const finish = (attempt: Attempt, rollout: Rollout, app: Stored<App>): Promise<Outcome> | Outcome => {
    const status = app.status?.release;
    if (status?.deploymentId === rollout.id && status.generation === rollout.revision) {
      if (status.phase === 'available') return outcomes.succeed(attempt, rollout);
      if (status.phase === 'failed') {
        return outcomes.fail(attempt, rollout, status.message ?? 'The new pods did not become ready.', app);
      }
    }
    if (rollout.overdue) return outcomes.fail(attempt, rollout, overdueReason(app), app);
    return { again: rollout.deadline };
  };

  /** Ends a deployment whose release the App does not have. */
  const endUnapplied = (attempt: Attempt, rollout: Rollout, app: Stored<App>): Promise<Outcome> => {
    const newest = app.spec.release?.generation ?? 0;
    if (newest >= rollout.revision)
      return outcomes.end(attempt, rollout, 'superseded', `Superseded by revision ${newest}.`);
    // A release that was removed from the App on purpose is not written again.
    const removed = 'The release was removed from the App. Deploy again.';
    return outcomes.fail(attempt, rollout, isStarted(rollout) ? removed : notStartedReason(app), app);
  };

  const step = async (attempt: Attempt, rollout: Rollout): Promise<Outcome> => {
    let app = await kube.get<App>(kinds.App, rollout.name, rollout.namespace);
    try {
      if (app && !isStarted(rollout) && !rollout.overdue) app = await applyRelease(dependencies, rollout, app);
    } catch (error) {
      // The App changes when a binding becomes ready or fails, and when the secrets are stored.
      if (error instanceof EnvironmentPendingError) return { again: rollout.deadline };
      // Retrying does not help: the image belongs to another project, a variable of the app is invalid, a binding failed, or
      // another object has the Secret's name.
      if (error instanceof Problem || error instanceof ForeignObjectError) {
        return outcomes.fail(attempt, rollout, error.message, app);
      }
      throw error;
    }
    if (!app || !isLiving(app, rollout.workloadId))
      return outcomes.end(attempt, rollout, 'cancelled', 'The app was deleted.');
    if (!isApplied(rollout, app)) return endUnapplied(attempt, rollout, app);
    if (!isStarted(rollout)) {
      const { spec } = app;
      const applied = {
        settings: settingsOf(spec),
        otherSettings: otherSettingsOf(spec),
        envSecret: spec.release?.envSecret,
      };
      // If a newer deployment superseded this one meanwhile, its own rollout continues.
      if (!(await startDeployment(pool, rollout.id, applied))) return 'done';
      failpoint('rollout.recorded');
    }
    return finish(attempt, rollout, app);
  };

  return async (attempt) => {
    const rollout = await findRollout(pool, attempt.recordId);
    if (!rollout || hasEnded(rollout.state)) return 'done';
    try {
      return await step(attempt, rollout);
    } catch (error) {
      if (!attempt.last && !rollout.expired) throw error;
      attempt.log.error({ err: error, deploymentId: rollout.id }, 'rollout failed after all retries');
      const app = await readOptional(attempt, () => kube.get<App>(kinds.App, rollout.name, rollout.namespace));
      return outcomes.fail(attempt, rollout, retriesExhaustedReason(error, { what: 'release', work: 'rollout' }), app);
    }
  };
}

/** Whether an earlier step wrote the release and recorded it. */
function isStarted({ state }: Rollout): boolean {
  return state === 'rolling_out';
}

function notStartedReason(app: Stored<App>): string {
  const [binding] = unreadyBindings(app);
  if (!binding && expectsSecrets(app)) return 'The secrets of the app were not stored. Set them, then deploy again.';
  if (!binding) return `The rollout did not start within ${minutes} minutes. Deploy again.`;
  const detail = binding.message === undefined ? '' : ` ${binding.message}`;
  return `The binding to "${binding.service}" was not ready within ${minutes} minutes.${detail} When it is ready, deploy again.`;
}

function overdueReason({ status }: Stored<App>): string {
  const detail = status?.message === undefined ? '' : ` The app reports: ${status.message}`;
  return `The new version did not become ready within ${minutes} minutes. Check the app's logs, then deploy again.${detail}`;
}
