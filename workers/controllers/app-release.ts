import { createHash } from 'node:crypto';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodReady, type Pod } from '../../runtime/contracts/pod.ts';
import type { App, AppSpec, ReleaseStatus } from '../../runtime/contracts/resources/app.ts';
import { isOfRelease } from '../../runtime/domain/labels.ts';
import { canonical } from '../../runtime/kube/children.ts';
import { recordedRelease } from './app-edits.ts';
import { faultText, notReadyText, patienceMs, releaseFault, type ReleaseFault } from './release-fault.ts';
import { likeTheYoungest } from './youngest-pods.ts';

const messageMax = 500;
const neverReady = 'The new pods did not become ready.';
/**
 * After a pod is told to go, the ingress may send it requests until it has heard of it (Traefik takes up its endpoints
 * every 2 s at most). Where that takes longer the pod still serves (`lingerSeconds` in infra/manifests/app.ts), and nobody
 * else has to wait for it.
 */
const departureMs = 3_000;

/** What the platform reads of a Deployment. https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/deployment-v1/ */
export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    template: {
      metadata?: { annotations?: Record<string, string> };
      spec?: { containers?: { name?: string; image?: string }[] };
    };
  };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
  };
}

/**
 * How far a release has come. `available` only when the deployment controller has seen this very release and its pods
 * are ready, all of them, and no request reaches a pod of another release any more; a release that was available once
 * stays so until its pods are to be others, by a change of the app's settings. Pure.
 * @param pods the app's serving pods, of whatever release
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
  const before = app.status?.release;
  const template = deployment && templateDigest(deployment);
  const same = before?.generation === generation && before.deploymentId === deploymentId;
  // Another memory limit or port makes new pods of the same release. Older versions of the platform kept no digest.
  const unchanged = before?.template === undefined || template === undefined || before.template === template;
  const was = same && unchanged ? before.phase : undefined;
  const reached = deployment && isAvailable(deployment, generation) && othersGoneInMs(pods, generation, now) === 0;
  const { image } = recordedRelease(app, release);
  const subject = { generation, deploymentId, image, ...(template !== undefined && { template }) };
  if (was === 'available' || reached) return { ...subject, phase: 'available' };
  // Called failed once, it stays so until it is available after all: a container runs for moments between its crashes.
  if (was === 'failed') return { ...subject, phase: 'failed', message: before?.message ?? neverReady };
  const ours = deployment ? updatedPods(deployment, pods, generation) : [];
  if (deployment && isStuck(deployment, generation)) {
    return { ...subject, phase: 'failed', message: stuckMessage(app.spec, deployment, ours) };
  }
  const fault = releaseFault(ours) ?? (deployment && refusal(deployment, generation));
  const progressing = { ...subject, phase: 'progressing' as const, readyReplicas: ours.filter(isPodReady).length };
  if (!fault) return progressing;
  const faultSince = (was && before?.faultSince) ?? now.toISOString();
  if (fault.final || now.getTime() - Date.parse(faultSince) >= patienceMs) {
    return { ...subject, phase: 'failed', message: fault.message };
  }
  return { ...progressing, faultSince };
}

/** Milliseconds until a fault of a release's pods has lasted too long; undefined where none is being watched. */
export function patienceLeftMs(release: ReleaseStatus | undefined, now: Date): number | undefined {
  if (release?.phase !== 'progressing' || release.faultSince === undefined) return undefined;
  return Math.max(1, Date.parse(release.faultSince) + patienceMs - now.getTime());
}

/** Tells whether pods are made anew: the same until they are to be other ones. */
function templateDigest({ spec }: Deployment): string {
  return createHash('sha256').update(canonical(spec.template)).digest('hex').slice(0, 16);
}

function isCurrent({ metadata, spec, status }: Stored<Deployment>, generation: number): boolean {
  return (
    isOfRelease(spec.template.metadata, generation) && (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  );
}

function isAvailable(deployment: Stored<Deployment>, generation: number): boolean {
  if (!isCurrent(deployment, generation)) return false;
  const wanted = deployment.spec.replicas ?? 1;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = deployment.status ?? {};
  return updatedReplicas === wanted && availableReplicas === wanted && replicas === updatedReplicas;
}

/**
 * Milliseconds until no pod of another release gets requests any more; 0 when none does. A pod that nobody has told to
 * go yet counts whole: its deletion comes as an event of the Deployment.
 */
export function othersGoneInMs(pods: readonly Stored<Pod>[], generation: number, now: Date): number {
  const waits = pods
    .filter(({ metadata }) => !isOfRelease(metadata, generation))
    // An evicted pod stays as an object, for nobody to delete, and serves nothing.
    .filter(({ status }) => status?.phase !== 'Failed' && status?.phase !== 'Succeeded')
    .map(({ metadata: { deletionTimestamp, deletionGracePeriodSeconds = 0 } }) => {
      if (deletionTimestamp === undefined) return departureMs;
      // The timestamp is when the pod is ended at the latest, in whole seconds: rounded, never early.
      const told = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
      return told + 1000 + departureMs - now.getTime();
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

/** That pods of the release cannot be made. Others may make room for them yet. */
function refusal(deployment: Stored<Deployment>, generation: number): ReleaseFault | undefined {
  const message = isCurrent(deployment, generation) ? refusedText(deployment) : undefined;
  return message === undefined ? undefined : { message: message.slice(0, messageMax), final: false };
}

/** Why the API server refuses pods, mostly for a quota: then there are none to ask. */
function refusedText({ status }: Deployment): string | undefined {
  return status?.conditions?.find((one) => one.type === 'ReplicaFailure' && one.status === 'True')?.message;
}

/**
 * The pods of one release that are as its Deployment says now: those of other settings, which may be what is being mended,
 * are on their way out.
 */
function updatedPods(deployment: Stored<Deployment>, pods: readonly Stored<Pod>[], generation: number): Stored<Pod>[] {
  if (!isCurrent(deployment, generation) || !deployment.status?.updatedReplicas) return [];
  return likeTheYoungest(podsOf(pods, generation));
}

/** The pods of one release. */
export function podsOf(pods: readonly Stored<Pod>[], generation: number): Stored<Pod>[] {
  return pods.filter(({ metadata }) => isOfRelease(metadata, generation));
}
