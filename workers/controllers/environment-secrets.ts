import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { JobResource } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import {
  ensureEnvironmentSecret,
  environmentSecrets,
  environmentSecretsPatch,
  withEnvironmentSecret,
  type ResolvedEnvironment,
} from '../../runtime/workloads/environment.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { deleteSecret } from './secret-deletion.ts';

/** A workload whose controller resolves its environment. */
type Owner = FunctionResource | JobResource;

/** For this long after a change, the cluster may still create a run from the old schedule. */
export const staleScheduleMs = 60_000;

/**
 * Creates the Secret of an environment. Its name is stored on the workload before, so that it is always deleted again.
 * @returns the workload with that name
 */
export async function publishEnvironment<Workload extends Owner>(
  kube: KubeClient,
  workload: Stored<Workload>,
  environment: ResolvedEnvironment,
): Promise<Stored<Workload>> {
  const { metadata } = workload;
  const annotations = withEnvironmentSecret(workload, environment.name);
  const current = environmentSecrets(workload).includes(environment.name)
    ? workload
    : await kube.replace<Workload>({ ...workload, metadata: { ...metadata, annotations } });
  await ensureEnvironmentSecret(kube, current, environment);
  return current;
}

/** A pod, or the template of pods. */
interface PodLike {
  spec: object;
}

/** The environment Secret that a pod uses. Pure. */
function environmentSecretOf({ spec }: PodLike): string | undefined {
  const { containers } = spec as { containers: { envFrom?: { secretRef?: { name?: string } }[] }[] };
  return containers.flatMap(({ envFrom = [] }) => envFrom.flatMap(({ secretRef }) => secretRef?.name ?? []))[0];
}

/** An object with a pod template. */
interface HasTemplate {
  spec: Record<string, unknown>;
}

/**
 * Deletes environment Secrets that neither a pod nor a template uses. After a crash, the next reconcile continues.
 * @param envSecret of new pods @param templates the current and former pod templates
 */
export async function collectEnvironments(
  kube: KubeClient,
  workload: Stored<Owner>,
  envSecret: string | undefined,
  templates: readonly HasTemplate[],
): Promise<void> {
  const names = environmentSecrets(workload);
  if (names.length === 0) return;
  const inTemplates = templates.map(({ spec }) => environmentSecretOf(spec['template'] as PodLike));
  const used = new Set([envSecret, ...inTemplates]);
  if (names.every((name) => used.has(name))) return;
  const { namespace = '' } = workload.metadata;
  const labelSelector = `${idLabel}=${workloadIdOf(workload)}`;
  const { items: pods } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
  for (const pod of pods) used.add(environmentSecretOf(pod));
  const remaining: string[] = [];
  for (const name of names) {
    if (used.has(name) || !(await deleteSecret(kube, workload, name, namespace))) remaining.push(name);
  }
  if (remaining.length === names.length) return;
  const { apiVersion, kind, metadata } = workload;
  await kube.mergePatch(
    { apiVersion, kind, namespace, name: metadata.name },
    environmentSecretsPatch(workload, remaining),
  );
}

/** Knows since when the schedules of workloads have had their environment. */
export function createScheduleChanges() {
  const changes = new Map<string, { envSecret: string | undefined; at: number }>();
  return {
    /** Milliseconds until no run of the schedule can use an older environment Secret; undefined when none can. */
    unsettledMs(workload: Stored<Owner>, envSecret: string | undefined, now: Date): number | undefined {
      const { uid } = workload.metadata;
      if (environmentSecrets(workload).every((name) => name === envSecret)) {
        changes.delete(uid);
        return undefined;
      }
      const previous = changes.get(uid);
      const change = previous && previous.envSecret === envSecret ? previous : { envSecret, at: now.getTime() };
      changes.set(uid, change);
      const leftMs = change.at + staleScheduleMs - now.getTime();
      return leftMs > 0 ? leftMs : undefined;
    },
    forget({ metadata }: Stored<Owner>): void {
      changes.delete(metadata.uid);
    },
  };
}
