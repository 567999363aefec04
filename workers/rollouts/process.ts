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
import { givenUp } from '../../runtime/host/given-up.ts';
import { withEnvironmentSecret } from '../../runtime/host/workload-environment.ts';
import { isLiving } from '../../runtime/host/workload-objects.ts';
import { ForeignObjectError } from '../../runtime/kube/children.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { rolloutDeadlineMs } from '../../runtime/queues/catalogue.ts';
import { failDeployment, type Return } from '../../runtime/records/deployment-returns.ts';
import { endDeployment, startDeployment, succeedDeployment } from '../../runtime/records/deployments.ts';
import { ensureEnvironment } from './environment.ts';
import { lastLines, runningDigest } from './pods.ts';
import { findRollout, type Rollout } from './store.ts';

export interface RolloutDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get' | 'list' | 'create' | 'replace' | 'stream'>;
  /** Called by name at each step, where a test may kill the process. */
  failpoint: (name: string) => void;
}

/** The App's other writers (its controller's status, mostly) make a replace conflict; then it is read again. */
const applyTries = 5;
/** For a look at the pods, in ms: well within the time that an attempt has. */
const lookMs = 4_000;
const minutes = rolloutDeadlineMs / 60_000;

/**
 * One step of a rollout: applies the deployment's release to its App, or settles it by what became of the release. It
 * never waits: between steps the work row sleeps until the App's status changes or the deadline is there. Every write is
 * conditional (a record's state, an object's version and release generation), so that any step may be cut off anywhere,
 * repeated, or come too late.
 */
export function createRolloutProcessor({ pool, kube, failpoint }: RolloutDependencies): Processor {
  const ended = ({ log }: Attempt, rollout: Rollout, how: { state: string; reason?: string; returned?: Return }) => {
    failpoint('rollout.ended');
    const { namespace, name: app, revision } = rollout;
    log.info({ namespace, app, revision, ...how }, 'deployment ended');
  };

  const end = async (
    attempt: Attempt,
    rollout: Rollout,
    state: 'superseded' | 'cancelled',
    reason: string,
  ): Promise<Outcome> => {
    failpoint('rollout.before-end');
    if (await endDeployment(pool, rollout.id, state, reason)) ended(attempt, rollout, { state, reason });
    return 'done';
  };

  const succeed = async (attempt: Attempt, rollout: Rollout): Promise<Outcome> => {
    const digest = rollout.digest ?? (await tolerant(attempt, () => runningDigest(kube, rollout)));
    failpoint('rollout.before-end');
    if (await succeedDeployment(pool, rollout.id, digest)) ended(attempt, rollout, { state: 'succeeded' });
    return 'done';
  };

  /** @param app as it was read, where its release may have been applied: then the app goes back */
  const fail = async (attempt: Attempt, rollout: Rollout, reason: string, app?: Stored<App>): Promise<Outcome> => {
    const applied = app !== undefined && isApplied(rollout, app);
    const said = applied ? await tolerant(attempt, () => lastLines(kube, rollout)) : undefined;
    failpoint('rollout.before-end');
    const { ended: done, returned } = await failDeployment(
      pool,
      rollout.id,
      said === undefined ? reason : `${reason}\nThe last lines of its log:\n${said}`,
      { applied: applied || (!app && rollout.state === 'rolling_out'), goBack: app?.spec.autoRollback ?? true },
    );
    if (done) ended(attempt, rollout, { state: 'failed', reason, ...(returned && { returned }) });
    return 'done';
  };

  /** Writes the release unless it, or a newer one, is there. Answers with the App as it is then. */
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
        return fail(attempt, rollout, error.message, app);
      }
      throw error;
    }
    if (!app || !isLiving(app, rollout.workloadId)) return end(attempt, rollout, 'cancelled', 'The app was deleted.');
    if (!isApplied(rollout, app)) {
      const newest = app.spec.release?.generation ?? 0;
      if (newest >= rollout.revision) return end(attempt, rollout, 'superseded', `Superseded by revision ${newest}.`);
      // A release that somebody took out of the App again is not fought over.
      return fail(attempt, rollout, begun ? 'The release was removed from the App; deploy again.' : neverBegun, app);
    }
    if (!begun) {
      // False when a newer deployment superseded this one meanwhile; its own rollout goes on from here.
      const applied = { settings: settingsOf(app.spec), envSecret: app.spec.release?.envSecret };
      if (!(await startDeployment(pool, rollout.id, applied))) return 'done';
      failpoint('rollout.recorded');
    }
    const status = app.status?.release;
    if (status?.deploymentId === rollout.id && status.generation === rollout.revision) {
      if (status.phase === 'available') return succeed(attempt, rollout);
      if (status.phase === 'failed') {
        return fail(attempt, rollout, status.message ?? 'The new pods did not become ready.', app);
      }
    }
    if (rollout.overdue) return fail(attempt, rollout, tooLate(app), app);
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
      const app = await tolerant(attempt, () => kube.get<App>(kinds.App, rollout.name, rollout.namespace));
      return fail(attempt, rollout, givenUp(error, { what: 'release', work: 'rollout' }), app);
    }
  };
}

/**
 * The release with the environment that it runs in, whose name stays on the App until it is removed, and the settings
 * that a rollback brings back: one write, so that they come with this release or not at all.
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

/** What cannot be found out must not keep a deployment from its end. */
async function tolerant<T>({ log }: Attempt, look: () => Promise<T | undefined>): Promise<T | undefined> {
  const limit = new AbortController();
  const tooSlow = delay(lookMs, undefined, { signal: limit.signal });
  try {
    return await Promise.race([look(), tooSlow]);
  } catch (error) {
    log.warn({ err: error }, 'pods of the release not read');
    return undefined;
  } finally {
    limit.abort();
    await tooSlow.catch(() => undefined);
  }
}

const neverBegun = `The rollout could not begin within ${minutes} minutes of its acceptance; deploy again.`;

function tooLate({ status }: Stored<App>): string {
  const seen = status?.message === undefined ? '' : ` The app reports: ${status.message}`;
  return `The new version was not serving within ${minutes} minutes; look at the app's logs, and deploy again.${seen}`;
}
