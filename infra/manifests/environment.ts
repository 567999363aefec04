import type { V1LimitRange, V1Namespace, V1ResourceQuota } from '@kubernetes/client-node';
import type { BuiltIn } from '../../runtime/contracts/kubernetes.ts';
import type { EnvironmentLimits } from '../../runtime/contracts/resources/project.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import {
  environmentIdLabel,
  environmentLabel,
  idLabel,
  managedLabels,
  projectLabel,
} from '../../runtime/domain/labels.ts';
import { canonicalBytes, canonicalCpu } from '../../runtime/domain/quantity.ts';

/** The name of the objects that limit an environment. */
export const environmentObjectName = 'svc-environment';

/** The most claims of storage in one environment: each can be a disk that costs money. */
const claimsMax = '50';

/**
 * The namespace of one environment. The API server refuses pods that could reach the node (`baseline`), and warns about
 * pods that do not meet `restricted`. Pure.
 */
export function environmentNamespace(environment: {
  namespace: string;
  project: string;
  projectId: Id;
  name: string;
  id: Id;
}): BuiltIn<V1Namespace> {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: environment.namespace,
      labels: {
        ...managedLabels(),
        [projectLabel]: environment.project,
        [environmentLabel]: environment.name,
        [environmentIdLabel]: environment.id,
        [idLabel]: environment.projectId,
        'pod-security.kubernetes.io/enforce': 'baseline',
        'pod-security.kubernetes.io/warn': 'restricted',
      },
    },
  };
}

/**
 * The quota of an environment. Services that open a port on a node or a load balancer would bypass the ingress and the
 * gate, so none are allowed. Pure.
 */
export function environmentQuota(
  namespace: string,
  limits: Required<EnvironmentLimits>,
): BuiltIn<V1ResourceQuota, 'spec'> {
  const { cpu, memory, storage, pods } = limits;
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: environmentObjectName, namespace },
    spec: {
      hard: {
        pods: String(pods),
        'requests.cpu': canonicalCpu(cpu),
        'limits.memory': canonicalBytes(memory),
        'requests.storage': canonicalBytes(storage),
        persistentvolumeclaims: claimsMax,
        'services.loadbalancers': '0',
        'services.nodeports': '0',
      },
    },
  };
}

/** The defaults of containers without requests or limits: the quota refuses pods that have none. Pure. */
export function environmentDefaults(
  namespace: string,
  { containerMemory }: Required<EnvironmentLimits>,
): BuiltIn<V1LimitRange, 'spec'> {
  return {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: environmentObjectName, namespace },
    spec: {
      limits: [
        {
          type: 'Container',
          default: { memory: canonicalBytes(containerMemory) },
          defaultRequest: { cpu: '20m', memory: '32Mi' },
        },
      ],
    },
  };
}
