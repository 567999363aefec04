import { effectiveLimits } from '../contracts/resources/project.ts';
import { Problem } from '../domain/problem.ts';
import { formatBytes, parseBytes } from '../domain/quantity.ts';
import type { Environment } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { readDefaultLimits } from '../workloads/platform-config.ts';

/** The pods of one workload. */
interface Pods {
  /** The memory limit of each; absent for the environment's default. */
  memory?: string | null | undefined;
  /** Default 1. */
  replicas?: number | undefined;
}

/**
 * Refuses pods that could never all run: together they exceed the limits of their environment, even without the pods of
 * other workloads. The API server would refuse them one by one, when the command has long been accepted.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/
 * @throws Problem `invalid_value`
 */
export async function checkQuota(
  kube: Pick<KubeClient, 'get'>,
  { environment, limits: own }: Environment,
  { memory, replicas = 1 }: Pods,
): Promise<void> {
  if (replicas === 0) return;
  const limits = effectiveLimits(own, await readDefaultLimits(kube));
  if (replicas > limits.pods) {
    refuse('replicas', `${replicas} pods are more than the ${limits.pods} of the environment "${environment}".`);
  }
  const each = parseBytes(memory ?? limits.containerMemory) ?? 0;
  if (each * replicas <= (parseBytes(limits.memory) ?? Infinity)) return;
  const need =
    replicas === 1
      ? `A pod with ${formatBytes(each)} of memory does`
      : `${replicas} pods with ${formatBytes(each)} of memory each do`;
  refuse(
    'memory',
    `${need} not fit into the environment "${environment}", whose pods may use ${limits.memory} in all.`,
  );
}

/**
 * Refuses storage that is larger than all that its environment may have, even without other volumes and services: its
 * claim would be refused when the command has long been accepted.
 * @throws Problem `invalid_value`
 */
export async function checkStorageQuota(
  kube: Pick<KubeClient, 'get'>,
  { environment, limits: own }: Environment,
  size: string,
): Promise<void> {
  const limits = effectiveLimits(own, await readDefaultLimits(kube));
  if ((parseBytes(size) ?? 0) <= (parseBytes(limits.storage) ?? Infinity)) return;
  refuse(
    'size',
    `${size} of storage do not fit into the environment "${environment}", which may have ${limits.storage} in all.`,
  );
}

function refuse(field: string, message: string): never {
  const hint = 'Choose less, or raise the limit of the environment: svc environment update --help.';
  throw new Problem('invalid_value', `${message} ${hint}`, { details: { field } });
}
