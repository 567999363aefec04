import type { Pool } from 'pg';
import type { Attempt, Outcome, Processor } from '../../runtime/bus/runner.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Build } from '../../runtime/contracts/resources/build.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { defaultBuildsAtOnce, defaultBuildTimeoutSeconds } from '../../runtime/contracts/resources/platform-config.ts';
import { transaction } from '../../runtime/db/pool.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { durationText } from '../../runtime/domain/duration.ts';
import { addressOfGit, checkGitSource, isCommit, type GitSource } from '../../runtime/domain/git-source.ts';
import { buildNamespace } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { givenUp } from '../../runtime/host/given-up.ts';
import { readPlatformConfig } from '../../runtime/host/platform-config.ts';
import { isLiving } from '../../runtime/host/workload-objects.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { buildGraceMs } from '../../runtime/queues/catalogue.ts';
import { takeBuildPlace, wakeWaitingBuilds } from '../../runtime/records/build-places.ts';
import { failDeployment } from '../../runtime/records/deployment-returns.ts';
import { findGitSource } from '../../runtime/records/git-sources.ts';
import { deployBuilt, endDeployment, startBuild } from '../../runtime/records/deployments.ts';
import { buildName, buildOf } from './build-object.ts';
import { findBuild, type BuildRecord } from './store.ts';

export interface BuildDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get' | 'create' | 'delete'>;
  /** Takes over what the build has printed so far, before the pods that did so may go. */
  keepLog: (record: Pick<BuildRecord, 'id'>) => Promise<void>;
}

/** While a build goes on, its log is taken over this often, in ms. */
const lookMs = 5_000;
/** One that waits for a place looks this often, in ms, should nobody wake it. */
const waitMs = 30_000;

/** Whether the end of a build with this time-out should have been seen. */
function isOverdue({ since, now }: BuildRecord, timeoutSeconds: number): boolean {
  return now.getTime() >= since.getTime() + timeoutSeconds * 1000 + buildGraceMs;
}

/**
 * One step of a build: makes the Build once there is a place for it, whose controller does the rest, looks how far it is,
 * or stops it when its deployment has ended meanwhile. Its image and the work that rolls it out are written in one transaction, and only while
 * the deployment is still building: of two builds that finish in reverse order the newer one's image stays.
 */
export function createBuildProcessor({ pool, kube, keepLog }: BuildDependencies): Processor {
  const remove = async (record: BuildRecord): Promise<Outcome> => {
    const { apiVersion, kind } = kinds.Build;
    await kube.delete({ apiVersion, kind, namespace: buildNamespace, name: buildName(record.id) });
    await wakeWaitingBuilds(pool);
    return 'done';
  };

  /** Nothing waits for the build any more. */
  const stop = async (record: BuildRecord): Promise<Outcome> => {
    await keepLog(record);
    return remove(record);
  };

  /** Nothing of it was applied, but it may have superseded a release that was. */
  const failBuild = async ({ id, namespace, name }: BuildRecord, reason: string): Promise<boolean> => {
    const app = await kube.get<App>(kinds.App, name, namespace).catch(() => undefined);
    const goBack = app?.spec.autoRollback ?? true;
    return (await failDeployment(pool, id, reason, { applied: false, goBack })).ended;
  };

  const fail = async (
    { log }: Attempt,
    record: BuildRecord,
    reason: string,
    state: 'failed' | 'cancelled' = 'failed',
  ): Promise<Outcome> => {
    await keepLog(record);
    const ended =
      state === 'failed' ? await failBuild(record, reason) : await endDeployment(pool, record.id, state, reason);
    const { namespace, name: app, revision } = record;
    if (ended) log.info({ namespace, app, revision, state, reason }, 'deployment ended');
    return remove(record);
  };

  /**
   * The keys that the server of a source has to prove one of, over ssh: a build never meets it first. They are there after
   * the first poll, which is made as soon as the source is set.
   */
  const hostKeysOf = async (
    record: BuildRecord,
    { url, hostKeys }: GitSource,
  ): Promise<{ hostKeys: string[] } | { fault: string } | 'waits' | undefined> => {
    if (!addressOfGit(url).overSsh) return undefined;
    if (hostKeys) return { hostKeys };
    const polled = await findGitSource(pool, record.workloadId);
    const source = polled?.url === url ? polled : undefined;
    if (source?.hostKeys) return { hostKeys: source.hostKeys };
    if (source?.error) return { fault: source.error };
    return isOverdue(record, defaultBuildTimeoutSeconds)
      ? { fault: 'The git server was not asked yet; see svc app git status.' }
      : 'waits';
  };

  const begin = async (attempt: Attempt, record: BuildRecord): Promise<Outcome> => {
    const app = await kube.get<App>(kinds.App, record.name, record.namespace);
    if (!app || !isLiving(app, record.workloadId)) return fail(attempt, record, 'The app was deleted.', 'cancelled');
    const { git } = app.spec;
    if (!git) return fail(attempt, record, 'The git source was removed before the build began; deploy an image.');
    if (record.commit !== null && !isCommit(record.commit)) {
      return fail(attempt, record, 'The commit is not 7 to 40 hexadecimal digits, so that it cannot be built.');
    }
    const hostKeys = await hostKeysOf(record, git);
    if (hostKeys === 'waits') return { again: new Date(record.now.getTime() + lookMs) };
    if (hostKeys && 'fault' in hostKeys) return fail(attempt, record, hostKeys.fault);
    const { builds } = await readPlatformConfig(kube);
    const { atOnce = defaultBuildsAtOnce, timeoutSeconds = defaultBuildTimeoutSeconds } = builds ?? {};
    const place = await takeBuildPlace(pool, record.id, atOnce);
    if (place === 'ended') return { again: record.now };
    if (place === 'waits') return { again: new Date(record.now.getTime() + waitMs) };
    try {
      await kube.create<Build>(buildOf(record, app, checkGitSource({ ...git, ...hostKeys }), timeoutSeconds));
    } catch (error) {
      if (error instanceof Problem) return fail(attempt, record, error.message);
      // A step before this one was cut off.
      if (!isKubeError(error, 409)) throw error;
    }
    // False when a newer deployment superseded this one meanwhile; the next step stops what was begun.
    await startBuild(pool, record.id);
    return { again: new Date(record.now.getTime() + lookMs) };
  };

  const look = async (attempt: Attempt, record: BuildRecord): Promise<Outcome> => {
    const build = await kube.get<Build>(kinds.Build, buildName(record.id), buildNamespace);
    if (!build || build.metadata.deletionTimestamp !== undefined) {
      return fail(attempt, record, 'The build was deleted before it had ended; deploy again.');
    }
    const { phase, message, image, digest, commit, commitMessage, commitAuthor } = build.status ?? {};
    if (phase === 'failed') return fail(attempt, record, message ?? 'The build failed; its log says why.');
    if (phase === 'succeeded') {
      if (image === undefined || digest === undefined || commit === undefined) {
        return fail(attempt, record, 'The build ended without an image; deploy again.');
      }
      await keepLog(record);
      const result = { image, digest, commit, commitMessage, commitAuthor };
      const made = await transaction(pool, (client) => deployBuilt(client, record.id, result));
      const { namespace, name: app, revision } = record;
      if (made) attempt.log.info({ namespace, app, revision, image, commit }, 'image built');
      return remove(record);
    }
    const { timeoutSeconds = defaultBuildTimeoutSeconds } = build.spec;
    if (isOverdue(record, timeoutSeconds)) {
      const waits = phase === 'pending' && message !== undefined ? ` ${message}` : '';
      return fail(attempt, record, `The build did not end within ${durationText(timeoutSeconds)}.${waits}`);
    }
    await keepLog(record);
    return { again: new Date(record.now.getTime() + lookMs) };
  };

  return async (attempt) => {
    const record = await findBuild(pool, attempt.recordId);
    if (!record) return 'done';
    try {
      if (hasEnded(record.state) || record.built) return await stop(record);
      return await (record.state === 'accepted' ? begin(attempt, record) : look(attempt, record));
    } catch (error) {
      if (!attempt.last) throw error;
      attempt.log.error({ err: error, deploymentId: record.id }, 'build given up');
      await failBuild(record, givenUp(error, { what: 'build', work: 'build' }));
      // What is left of it is tried on: the deployment has ended, and the next step stops the build.
      throw error;
    }
  };
}
