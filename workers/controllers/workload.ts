import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import {
  environmentIdLabel,
  environmentLabel,
  idLabel,
  managedLabels,
  projectLabel,
  workloadFinalizer,
} from '../../runtime/domain/labels.ts';
import { nameTaken } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { hostTaken } from '../../runtime/host/workload-create.ts';
import { NotYetError } from '../../runtime/kube/children.ts';
import { claimHost, reserveName } from '../../runtime/kube/claims.ts';
import { ensureMarks } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** What a workload is, beside its spec. */
export interface WorkloadIdentity {
  id: Id;
  name: string;
  namespace: string;
  project: string;
  environment: string;
  environmentId: Id;
}

/** A workload's identity as its labels say it, or undefined before a controller saw to them. */
export function identityOf({ metadata }: KubeObject): WorkloadIdentity | undefined {
  const { name, namespace, labels = {} } = metadata;
  const id = labels[idLabel];
  const project = labels[projectLabel];
  const environment = labels[environmentLabel];
  const environmentId = labels[environmentIdLabel];
  if (!id || !namespace || !project || !environment || !environmentId) return undefined;
  return { id, name, namespace, project, environment, environmentId };
}

/**
 * Sees to it that the workload has its finalizer and labels: the management API sets them, `kubectl create` does not. The
 * environment is what the namespace says, whatever the labels said.
 * @throws Problem `invalid_value` for a namespace that is no environment, NotYetError for one that is being deleted
 */
export async function ensureIdentity<T extends KubeObject>(
  kube: Pick<KubeClient, 'get' | 'replace' | 'cache'>,
  workload: Stored<T>,
): Promise<{ workload: Stored<T>; identity: WorkloadIdentity }> {
  const { namespace = '' } = workload.metadata;
  const seen = kube.cache?.get(kinds.Namespace, namespace);
  // What an environment's namespace says of it never changes; that it goes, the API server says at every write.
  const home = seen?.metadata.labels?.[environmentIdLabel] ? seen : await kube.get(kinds.Namespace, namespace);
  if (home?.metadata.deletionTimestamp !== undefined)
    throw new NotYetError(`the namespace "${namespace}" is going away`);
  const labels = home?.metadata.labels ?? {};
  const environment = Object.fromEntries(
    [projectLabel, environmentLabel, environmentIdLabel].map((label) => [label, labels[label]]),
  );
  if (Object.values(environment).some((value) => value === undefined)) {
    throw new Problem('invalid_value', `The namespace "${namespace}" is not an environment of a project.`);
  }
  const marked = await ensureMarks(kube, workload, workloadFinalizer, {
    ...managedLabels(),
    ...(environment as Record<string, string>),
    [idLabel]: workload.metadata.labels?.[idLabel] ?? newId(),
  });
  const identity = identityOf(marked);
  if (!identity) throw new Error(`${workload.kind} "${workload.metadata.name}" has no identity`);
  return { workload: marked, identity };
}

/**
 * Holds the workload's name and hosts, as every pass does first: the management API did both, and here a loss shows.
 * @throws Problem `name_taken` or `host_taken`, which name the holder
 */
export async function holdClaims(
  kube: KubeClient,
  workload: Stored<KubeObject>,
  hosts: readonly string[] = [],
): Promise<void> {
  const name = await reserveName(kube, workload);
  if (name !== 'reserved') throw nameTaken(workload.metadata.name, name.holder, workload.kind);
  for (const host of hosts) {
    const claimed = await claimHost(kube, workload, host);
    if (claimed !== 'claimed') throw hostTaken(host, claimed.holder);
  }
}
