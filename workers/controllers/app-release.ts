import { createHash } from 'node:crypto';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodReady, type Pod } from '../../runtime/contracts/pod.ts';
import type { App, AppSpec, ReleaseStatus } from '../../runtime/contracts/resources/app.ts';
import { isOfRelease } from '../../runtime/domain/labels.ts';
import { canonical } from '../../runtime/kube/children.ts';
import { recordedRelease } from './app-edits.ts';
import type { Deployment } from './deployment-object.ts';
import { faultText, notReadyText, patienceMs, releaseFault, type ReleaseFault } from './release-fault.ts';
import { podsOfNewestTemplate } from './newest-pods.ts';

const messageMax = 500;
const neverReady = 'The new pods did not become ready.';
/**
 * After a pod starts to terminate, the ingress may send it requests until it updates its endpoints (Traefik does so
 * every 2 s at most). If that takes longer, the pod still serves (`lingerSeconds` in infra/manifests/app.ts), without
 * delaying the release.
 */
const departureMs = 3_000;

/**
 * The progress of a release. It is `available` once the deployment controller has seen it, all of its pods are ready,
 * and no pod of another release gets requests. It then stays `available` until a change of the app's settings replaces
 * its pods. Pure.
 * @param pods the app's serving pods, of any release
 */
export function releaseStatus(
  app: Pick<App, 'spec' | 'status'>,
  deployment: Stored<Deployment> | undefined,
  pods: readonly Stored<Pod>[],
  now: Date,
): ReleaseStatus | undefined {
  const { release } = app.spec;
  if (!release) return undefined;
  const { generation, deploymentId } = release;
  const { image } = recordedRelease(app, release);
  const template = deployment && templateDigest(deployment);
  const subject = { generation, deploymentId, image, ...(template !== undefined && { template }) };
  const previous = previousStatus(app, subject);
  const reached =
    deployment && isAvailable(deployment, generation) && otherReleasesGoneInMs(pods, generation, now) === 0;
  if (previous?.phase === 'available' || reached) return { ...subject, phase: 'available' };
  // A failed release stays failed until it is available, because a crashing container runs for moments between attempts.
  if (previous?.phase === 'failed') return { ...subject, phase: 'failed', message: previous.message ?? neverReady };
  return unreachedStatus(subject, { spec: app.spec, deployment, pods, faultSince: previous?.faultSince, now });
}

type Subject = Pick<ReleaseStatus, 'generation' | 'deploymentId' | 'image' | 'template'>;

/**
 * The stored status, if it is of the same release and template: a different memory limit or port replaces the pods of
 * the same release. Older versions of the platform stored no digest.
 */
function previousStatus({ status }: Pick<App, 'status'>, subject: Subject): ReleaseStatus | undefined {
  const before = status?.release;
  if (before?.generation !== subject.generation || before.deploymentId !== subject.deploymentId) return undefined;
  const replaced =
    before.template !== undefined && subject.template !== undefined && before.template !== subject.template;
  return replaced ? undefined : before;
}

/** The status of a release that is not available: `failed` when it is stuck or its fault is final or lasts. */
function unreachedStatus(
  subject: Subject,
  observed: {
    spec: AppSpec;
    deployment: Stored<Deployment> | undefined;
    pods: readonly Stored<Pod>[];
    faultSince: string | undefined;
    now: Date;
  },
): ReleaseStatus {
  const { spec, deployment, pods, now } = observed;
  const { generation } = subject;
  const releasePods = deployment ? updatedPods(deployment, pods, generation) : [];
  if (deployment && isStuck(deployment, generation)) {
    return { ...subject, phase: 'failed', message: stuckMessage(spec, deployment, releasePods) };
  }
  const fault = releaseFault(releasePods) ?? (deployment && refusal(deployment, generation));
  const readyReplicas = releasePods.filter(isPodReady).length;
  if (!fault) return { ...subject, phase: 'progressing', readyReplicas };
  const { faultSince = now.toISOString() } = observed;
  if (fault.final || now.getTime() - Date.parse(faultSince) >= patienceMs) {
    return { ...subject, phase: 'failed', message: fault.message };
  }
  return { ...subject, phase: 'progressing', readyReplicas, faultSince };
}

/** Milliseconds until a fault of a release's pods fails it; undefined without such a fault. */
export function patienceLeftMs(release: ReleaseStatus | undefined, now: Date): number | undefined {
  if (release?.phase !== 'progressing' || release.faultSince === undefined) return undefined;
  return Math.max(1, Date.parse(release.faultSince) + patienceMs - now.getTime());
}

/** A digest that changes when the Deployment object replaces its pods. */
function templateDigest({ spec }: Deployment): string {
  return createHash('sha256').update(canonical(spec.template)).digest('hex').slice(0, 16);
}

/** Whether the deployment controller has seen this release, so that the object's status is about its pods. Pure. */
export function isCurrent({ metadata, spec, status }: Stored<Deployment>, generation: number): boolean {
  return (
    isOfRelease(spec.template.metadata, generation) && (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  );
}

function isAvailable(deployment: Stored<Deployment>, generation: number): boolean {
  if (!isCurrent(deployment, generation)) return false;
  const desired = deployment.spec.replicas ?? 1;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = deployment.status ?? {};
  return updatedReplicas === desired && availableReplicas === desired && replicas === updatedReplicas;
}

/**
 * Milliseconds until no pod of another release gets requests; 0 when none does. For a pod that is not terminating yet
 * this is the full time, and its deletion causes another reconcile through the Deployment object.
 */
export function otherReleasesGoneInMs(pods: readonly Stored<Pod>[], generation: number, now: Date): number {
  const waits = pods
    .filter(({ metadata }) => !isOfRelease(metadata, generation))
    // An evicted pod remains as an object, but serves nothing.
    .filter(({ status }) => status?.phase !== 'Failed' && status?.phase !== 'Succeeded')
    .map(({ metadata: { deletionTimestamp, deletionGracePeriodSeconds = 0 } }) => {
      if (deletionTimestamp === undefined) return departureMs;
      // `deletionTimestamp` is the end of the grace period, rounded to whole seconds.
      const startedAt = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
      return startedAt + 1000 + departureMs - now.getTime();
    });
  return Math.max(0, ...waits);
}

function isStuck(deployment: Stored<Deployment>, generation: number): boolean {
  if (!isCurrent(deployment, generation)) return false;
  const progressing = deployment.status?.conditions?.find(({ type }) => type === 'Progressing');
  return progressing?.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded';
}

function stuckMessage(spec: AppSpec, deployment: Deployment, pods: readonly Stored<Pod>[]): string {
  const fault = pods.map(faultText).find((text) => text !== undefined);
  return (fault ?? refusedText(deployment) ?? notReadyText(pods, spec)).slice(0, messageMax);
}

/** A fault when the pods of the release cannot be created. It may end when other pods free resources. */
function refusal(deployment: Stored<Deployment>, generation: number): ReleaseFault | undefined {
  const message = isCurrent(deployment, generation) ? refusedText(deployment) : undefined;
  return message === undefined ? undefined : { message: message.slice(0, messageMax), final: false };
}

/** Why the API server refuses to create pods, mostly because of a quota. */
function refusedText({ status }: Deployment): string | undefined {
  return status?.conditions?.find(({ type, status: value }) => type === 'ReplicaFailure' && value === 'True')?.message;
}

/**
 * The pods of a release with the Deployment object's current settings. Pods with other settings, which may be the cause
 * of a fault, are being replaced.
 */
function updatedPods(deployment: Stored<Deployment>, pods: readonly Stored<Pod>[], generation: number): Stored<Pod>[] {
  if (!isCurrent(deployment, generation) || !deployment.status?.updatedReplicas) return [];
  return podsOfNewestTemplate(podsOf(pods, generation));
}

/** The pods of one release. */
export function podsOf(pods: readonly Stored<Pod>[], generation: number): Stored<Pod>[] {
  return pods.filter(({ metadata }) => isOfRelease(metadata, generation));
}
