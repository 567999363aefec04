import type { Pool } from 'pg';
import type { Attempt, Outcome, Processor } from '../../runtime/bus/runner.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Build } from '../../runtime/contracts/resources/build.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import {
  defaultBuildsAtOnce,
  defaultBuildTimeoutSeconds,
  type PlatformConfigSpec,
} from '../../runtime/contracts/resources/platform-config.ts';
import { transaction } from '../../runtime/db/pool.ts';
import { imagePrefix } from '../../runtime/domain/built-image.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { durationText } from '../../runtime/domain/duration.ts';
import { addressOfGit, checkGitSource, isCommit, type GitSource } from '../../runtime/domain/git-source.ts';
import { buildNamespace } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { retriesExhaustedReason } from '../../runtime/workloads/retries-exhausted.ts';
import { readPlatformConfig } from '../../runtime/workloads/platform-config.ts';
import { isLiving } from '../../runtime/workloads/objects.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { buildGraceMs } from '../../runtime/queues/catalogue.ts';
import { acquireBuildSlot, wakeWaitingBuilds } from '../../runtime/records/build-slots.ts';
import { failDeployment } from '../../runtime/records/automatic-rollback.ts';
import { findGitSource } from '../../runtime/records/git-sources.ts';
import { awaitsDeletion } from '../../runtime/records/image-deletions.ts';
import { findDependenciesImage, recordImage } from '../../runtime/records/images.ts';
import { findDeploymentSource } from '../../runtime/records/sources.ts';
import { deployBuilt, endDeployment, startBuild } from '../../runtime/records/deployments.ts';
import { buildName, buildOf, type BuildSource } from './build-object.ts';
import { findBuild, type BuildRecord } from './store.ts';

export interface BuildDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get' | 'create' | 'delete'>;
  /** Saves the output of the build's pods. */
  saveLog: (record: Pick<BuildRecord, 'id'>) => Promise<void>;
}

/** Interval at which a running build is checked and its log saved, in ms. */
const checkMs = 5_000;
/** Interval at which a queued build checks for a free slot, in ms; usually it is woken earlier. */
const waitMs = 30_000;
/** Interval at which a build waits for the deletion of an image of its app, in ms: it may push the same image. */
const deletionMs = 1_000;

/** Whether a build with this time-out should have ended. */
function isOverdue({ since, now }: BuildRecord, timeoutSeconds: number): boolean {
  return now.getTime() >= since.getTime() + timeoutSeconds * 1000 + buildGraceMs;
}

/**
 * One step of a build: creates the Build once a slot is free, checks its progress, or stops it when its deployment has
 * ended. The image and the rollout's work row are written in one transaction, and only while the deployment is building.
 * So when two builds finish in reverse order, the image of the newer one stays.
 */
export function createBuildProcessor({ pool, kube, saveLog }: BuildDependencies): Processor {
  const remove = async (record: BuildRecord): Promise<Outcome> => {
    const { apiVersion, kind } = kinds.Build;
    await kube.delete({ apiVersion, kind, namespace: buildNamespace, name: buildName(record.id) });
    await wakeWaitingBuilds(pool);
    return 'done';
  };

  /** Ends a build whose deployment has ended. What it pushed is recorded, so that the clean-up deletes it. */
  const stop = async (record: BuildRecord): Promise<Outcome> => {
    await saveLog(record);
    const build = record.built ? undefined : await kube.get<Build>(kinds.Build, buildName(record.id), buildNamespace);
    const { image, digest, sizeBytes } = build?.status ?? {};
    if (image !== undefined && digest !== undefined) {
      const pushed = { image, digest, sizeBytes, cacheDigest: build?.spec.cacheDigest };
      await recordImage(pool, record.id, pushed, { onlyNew: true });
    }
    return remove(record);
  };

  /** Fails the deployment. It applied nothing, but may have superseded a release that did. */
  const failBuild = async ({ id, namespace, name }: BuildRecord, reason: string): Promise<boolean> => {
    const app = await kube.get<App>(kinds.App, name, namespace).catch(() => undefined);
    const autoRollback = app?.spec.autoRollback ?? true;
    return (await failDeployment(pool, id, reason, { applied: false, autoRollback })).ended;
  };

  const fail = async (
    { log }: Attempt,
    record: BuildRecord,
    reason: string,
    state: 'failed' | 'cancelled' = 'failed',
  ): Promise<Outcome> => {
    await saveLog(record);
    const ended =
      state === 'failed' ? await failBuild(record, reason) : await endDeployment(pool, record.id, state, reason);
    const { namespace, name: app, revision } = record;
    if (ended) log.info({ namespace, app, revision, state, reason }, 'deployment ended');
    return remove(record);
  };

  /**
   * The accepted host keys of a source's server, for SSH. A build never accepts a new key; the first poll does, which
   * follows at once when the source is set.
   */
  const hostKeysOf = async (
    record: BuildRecord,
    { url, hostKeys }: GitSource,
  ): Promise<{ hostKeys: string[] } | { fault: string } | 'unknown' | undefined> => {
    if (!addressOfGit(url).overSsh) return undefined;
    if (hostKeys) return { hostKeys };
    const polled = await findGitSource(pool, record.workloadId);
    const source = polled?.url === url ? polled : undefined;
    if (source?.hostKeys) return { hostKeys: source.hostKeys };
    if (source?.error) return { fault: source.error };
    return isOverdue(record, defaultBuildTimeoutSeconds)
      ? { fault: 'The git source was not polled yet. Check it with: svc app git status' }
      : 'unknown';
  };

  /** Where the files come from; a fault fails the deployment. */
  const sourceOf = async (
    record: BuildRecord,
    { spec: { git } }: Stored<App>,
  ): Promise<BuildSource | { fault: string } | { again: Date }> => {
    const uploaded = await findDeploymentSource(pool, record.id);
    if (uploaded) return { upload: true, ...uploaded };
    if (!git) return { fault: 'The git source was removed before the build started. Deploy an image instead.' };
    if (record.commit !== null && !isCommit(record.commit)) {
      return { fault: 'The commit is invalid: it must have 7 to 40 hexadecimal digits.' };
    }
    const hostKeys = await hostKeysOf(record, git);
    if (hostKeys === 'unknown') return { again: new Date(record.now.getTime() + checkMs) };
    if (hostKeys && 'fault' in hostKeys) return hostKeys;
    try {
      return checkGitSource({ ...git, ...hostKeys });
    } catch (error) {
      if (error instanceof Problem) return { fault: error.message };
      throw error;
    }
  };

  /** The image whose dependencies the build may use. */
  const cacheOf = async ({ workloadId, namespace, name }: BuildRecord, builds: PlatformConfigSpec['builds']) => {
    if (!builds) return undefined;
    return findDependenciesImage(pool, { workloadId, repository: `${imagePrefix(builds, namespace)}${name}` });
  };

  const start = async (attempt: Attempt, record: BuildRecord): Promise<Outcome> => {
    const app = await kube.get<App>(kinds.App, record.name, record.namespace);
    if (!app || !isLiving(app, record.workloadId)) return fail(attempt, record, 'The app was deleted.', 'cancelled');
    const source = await sourceOf(record, app);
    if ('fault' in source) return fail(attempt, record, source.fault);
    if ('again' in source) return source;
    const { builds } = await readPlatformConfig(kube);
    const { atOnce = defaultBuildsAtOnce, timeoutSeconds = defaultBuildTimeoutSeconds } = builds ?? {};
    const { namespace, name } = record;
    if (await transaction(pool, (client) => awaitsDeletion(client, { namespace, app: name }))) {
      return { again: new Date(record.now.getTime() + deletionMs) };
    }
    const slot = await acquireBuildSlot(pool, record.id, atOnce);
    if (slot === 'ended') return { again: record.now };
    if (slot === 'full') return { again: new Date(record.now.getTime() + waitMs) };
    try {
      const cacheDigest = await cacheOf(record, builds);
      await kube.create<Build>(buildOf(record, app, source, { timeoutSeconds, cacheDigest }));
    } catch (error) {
      // An interrupted step has created it.
      if (!isKubeError(error, 409)) throw error;
    }
    // If a newer deployment superseded this one meanwhile, the next step stops the build.
    await startBuild(pool, record.id);
    return { again: new Date(record.now.getTime() + checkMs) };
  };

  const check = async (attempt: Attempt, record: BuildRecord): Promise<Outcome> => {
    const build = await kube.get<Build>(kinds.Build, buildName(record.id), buildNamespace);
    if (!build || build.metadata.deletionTimestamp !== undefined) {
      return fail(attempt, record, 'The build was deleted before it finished. Deploy again.');
    }
    const { phase, message, image, digest, sizeBytes, commit, commitMessage, commitAuthor } = build.status ?? {};
    if (phase === 'failed') return fail(attempt, record, message ?? 'The build failed. See its log.');
    if (phase === 'succeeded') {
      if (
        image === undefined ||
        digest === undefined ||
        (commit === undefined && build.spec.source.url !== undefined)
      ) {
        return fail(attempt, record, 'The build finished without an image. Deploy again.');
      }
      await saveLog(record);
      const { cacheDigest } = build.spec;
      const result = { image, digest, sizeBytes, cacheDigest, commit, commitMessage, commitAuthor };
      const built = await transaction(pool, (client) => deployBuilt(client, record.id, result));
      const { namespace, name: app, revision } = record;
      if (built) attempt.log.info({ namespace, app, revision, image, commit }, 'image built');
      return remove(record);
    }
    const { timeoutSeconds = defaultBuildTimeoutSeconds } = build.spec;
    if (isOverdue(record, timeoutSeconds)) {
      const detail = phase === 'pending' && message !== undefined ? ` ${message}` : '';
      return fail(attempt, record, `The build did not finish within ${durationText(timeoutSeconds)}.${detail}`);
    }
    await saveLog(record);
    return { again: new Date(record.now.getTime() + checkMs) };
  };

  return async (attempt) => {
    const record = await findBuild(pool, attempt.recordId);
    if (!record) return 'done';
    try {
      if (hasEnded(record.state) || record.built) return await stop(record);
      return await (record.state === 'accepted' ? start(attempt, record) : check(attempt, record));
    } catch (error) {
      if (!attempt.last) throw error;
      attempt.log.error({ err: error, deploymentId: record.id }, 'build failed after all retries');
      await failBuild(record, retriesExhaustedReason(error, { what: 'build', work: 'build' }));
      // Keeps the work row: the deployment has ended, and the next step stops the build.
      throw error;
    }
  };
}
