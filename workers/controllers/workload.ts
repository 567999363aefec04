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
import { hostTaken } from '../../runtime/workloads/create.ts';
import { NotYetError } from '../../runtime/kube/children.ts';
import { claimHost, reserveName } from '../../runtime/kube/claims.ts';
import { ensureMarks } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** The identity of a workload. */
export interface WorkloadIdentity {
  id: Id;
  name: string;
  namespace: string;
  project: string;
  environment: string;
  environmentId: Id;
}

/** A workload's identity from its labels; undefined before a controller has set them. */
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
 * Sets the finalizer and labels of a workload if they are missing: the management API sets them, `kubectl create` does
 * not. The environment is that of the namespace, whatever the labels say.
 * @throws Problem `invalid_value` for a namespace that is no environment, NotYetError for one that is being deleted
 */
export async function ensureIdentity<T extends KubeObject>(
  kube: Pick<KubeClient, 'get' | 'replace' | 'cache'>,
  workload: Stored<T>,
): Promise<{ workload: Stored<T>; identity: WorkloadIdentity }> {
  const { namespace = '' } = workload.metadata;
  const cached = kube.cache?.get(kinds.Namespace, namespace);
  // The labels of an environment's namespace never change, and the API server rejects writes once it is being deleted.
  const namespaceObject = cached?.metadata.labels?.[environmentIdLabel]
    ? cached
    : await kube.get(kinds.Namespace, namespace);
  if (namespaceObject?.metadata.deletionTimestamp !== undefined)
    throw new NotYetError(`the namespace "${namespace}" is being deleted`);
  const labels = namespaceObject?.metadata.labels ?? {};
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
 * Claims the workload's name and hosts. Every reconcile does this first; the management API does so as well, and a lost
 * claim is reported here.
 * @throws Problem `name_taken` or `host_taken`
 */
export async function holdClaims(
  kube: KubeClient,
  workload: Stored<KubeObject>,
  hosts: readonly string[] = [],
): Promise<void> {
  const project = workload.metadata.labels?.[projectLabel] ?? '';
  const name = await reserveName(kube, workload);
  if (name !== 'reserved') throw nameTaken(workload.metadata.name, name.holder, workload.kind);
  for (const host of hosts) {
    const claimed = await claimHost(kube, workload, host);
    if (claimed !== 'claimed') throw hostTaken(host, { project }, claimed.holder);
  }
}
