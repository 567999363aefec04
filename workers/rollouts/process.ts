import type { Pool } from 'pg';
import type { Attempt, Outcome, Processor } from '../../runtime/bus/runner.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, Release } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { withEnvironmentSecret } from '../../runtime/host/workload-environment.ts';
import { ForeignObjectError } from '../../runtime/kube/children.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { rolloutDeadlineMs } from '../../runtime/queues/catalogue.ts';
import { endDeployment, startDeployment, succeedDeployment } from '../../runtime/records/deployments.ts';
import { ensureEnvironment } from './environment.ts';
import { findRollout, type Rollout } from './store.ts';

export interface RolloutDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  /** Called by name at each step, where a test may kill the process. */
  failpoint: (name: string) => void;
}

/** The App's other writers (its controller's status, mostly) make a replace conflict; then it is read again. */
const applyTries = 5;
const minutes = rolloutDeadlineMs / 60_000;

/**
 * One step of a rollout: applies the deployment's release to its App, or settles it by what became of the release. It
 * never waits: between steps the work row sleeps until the App's status changes or the deadline is there. Every write is
 * conditional (a record's state, an object's version and release generation), so that any step may be cut off anywhere,
 * repeated, or come too late.
 */
export function createRolloutProcessor({ pool, kube, failpoint }: RolloutDependencies): Processor {
  const end = async (
    { log }: Attempt,
    rollout: Rollout,
    state: 'succeeded' | 'failed' | 'superseded' | 'cancelled',
    reason = '',
  ): Promise<Outcome> => {
    failpoint('rollout.before-end');
    const ended =
      state === 'succeeded'
        ? await succeedDeployment(pool, rollout.id)
        : await endDeployment(pool, rollout.id, state, reason);
    failpoint('rollout.ended');
    const { namespace, name: app, revision } = rollout;
    if (ended) log.info({ namespace, app, revision, state, reason: reason || undefined }, 'deployment ended');
    return 'done';
  };

  /** Writes the release unless it, or a newer one, is there. Answers with the App as it is then. */
  const apply = async (rollout: Rollout, read: Stored<App>): Promise<Stored<App> | undefined> => {
    let app: Stored<App> | undefined = read;
    for (let attempt = 1; ; attempt++) {
      if (!app || !isIts(rollout, app) || (app.spec.release?.generation ?? 0) >= rollout.revision) return app;
      const environment = await ensureEnvironment(kube, app, rollout.revision);
      failpoint('rollout.before-apply');
      try {
        const applied = await kube.replace<App>(withRelease(app, releaseOf(rollout), environment));
        failpoint('rollout.applied');
        return applied;
      } catch (error) {
        const retry = (isKubeError(error, 409) && attempt < applyTries) || isKubeError(error, 404);
        if (!retry) throw error;
        app = await kube.get<App>(kinds.App, rollout.name, rollout.namespace);
      }
    }
  };

  const step = async (attempt: Attempt, rollout: Rollout): Promise<Outcome> => {
    let app = await kube.get<App>(kinds.App, rollout.name, rollout.namespace);
    const begun = rollout.state === 'rolling_out';
    try {
      if (app && !begun && !rollout.overdue) app = await apply(rollout, app);
    } catch (error) {
      // Nothing that waiting cures: the app's own variables, or an object of somebody else.
      if (error instanceof Problem || error instanceof ForeignObjectError) {
        return end(attempt, rollout, 'failed', error.message);
      }
      throw error;
    }
    if (!app || !isIts(rollout, app)) return end(attempt, rollout, 'cancelled', 'The app was deleted.');
    if (!isApplied(rollout, app)) {
      const newest = app.spec.release?.generation ?? 0;
      if (newest >= rollout.revision) return end(attempt, rollout, 'superseded', `Superseded by revision ${newest}.`);
      // A release that somebody took out of the App again is not fought over.
      return end(
        attempt,
        rollout,
        'failed',
        begun ? 'The release was removed from the App; deploy again.' : neverBegun,
      );
    }
    if (!begun) {
      // False when a newer deployment superseded this one meanwhile; its own rollout goes on from here.
      if (!(await startDeployment(pool, rollout.id))) return 'done';
      failpoint('rollout.recorded');
    }
    const status = app.status?.release;
    if (status?.deploymentId === rollout.id && status.generation === rollout.revision) {
      if (status.phase === 'available') return end(attempt, rollout, 'succeeded');
      if (status.phase === 'failed') {
        return end(attempt, rollout, 'failed', status.message ?? 'The new pods did not become ready.');
      }
    }
    if (rollout.overdue) return end(attempt, rollout, 'failed', tooLate(app));
    return { again: rollout.deadline };
  };

  return async (attempt) => {
    const rollout = await findRollout(pool, attempt.recordId);
    if (!rollout || hasEnded(rollout.state)) return 'done';
    try {
      return await step(attempt, rollout);
    } catch (error) {
      if (!attempt.last && !rollout.expired) throw error;
      attempt.log.error({ err: error, deploymentId: rollout.id }, 'rollout given up');
      return end(attempt, rollout, 'failed', givenUp(error));
    }
  };
}

/** Whether the App is the one that was deployed to, and stays. One of the same name with another id was created anew. */
function isIts(rollout: Rollout, { metadata }: Stored<App>): boolean {
  return metadata.labels?.[idLabel] === rollout.workloadId && metadata.deletionTimestamp === undefined;
}

/** The release with the environment that it runs in, whose name stays on the App until it is removed. */
function withRelease(app: Stored<App>, release: Release, envSecret: string | undefined): Stored<App> {
  if (envSecret === undefined) return { ...app, spec: { ...app.spec, release } };
  const annotations = withEnvironmentSecret(app, envSecret);
  return {
    ...app,
    metadata: { ...app.metadata, annotations },
    spec: { ...app.spec, release: { ...release, envSecret } },
  };
}

function isApplied(rollout: Rollout, { spec }: Stored<App>): boolean {
  return spec.release?.generation === rollout.revision && spec.release.deploymentId === rollout.id;
}

function releaseOf({ revision, id, image, digest }: Rollout): Release {
  return { generation: revision, deploymentId: id, image, ...(digest !== null && { digest }) };
}

const neverBegun = `The rollout could not begin within ${minutes} minutes of its acceptance; deploy again.`;

function tooLate({ status }: Stored<App>): string {
  const seen = status?.message === undefined ? '' : ` The app reports: ${status.message}`;
  return `The new version was not serving within ${minutes} minutes; look at the app's logs, and deploy again.${seen}`;
}

/** What a person may read: the reason in Kubernetes' words for a refusal, no addresses and no bodies. */
function givenUp(error: unknown): string {
  if (isKubeError(error) && error.status < 500) {
    return `Kubernetes refused the release again and again (${error.status} ${error.reason}); ask an administrator, and deploy again.`;
  }
  return 'The rollout could not be carried out for too long; the log of svc-workers tells why. Deploy again.';
}
