import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
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

/** The name of the objects that bound an environment. */
export const environmentObjectName = 'svc-environment';

/** Claims of storage in one environment; each is a disk that somebody pays for. */
const claimsMax = '50';

/**
 * The namespace of one environment. Pods that could reach the node are refused (`baseline`); what is short of
 * `restricted` is told. Pure.
 */
export function environmentNamespace(environment: {
  namespace: string;
  project: string;
  projectId: Id;
  name: string;
  id: Id;
}): KubeObject {
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
 * What the environment may use in all. Services that open ports of nodes or load balancers would lead around the ingress
 * and the gate, so there are none. Pure.
 */
export function environmentQuota(namespace: string, limits: Required<EnvironmentLimits>): KubeObject {
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

/** What a container gets that says nothing itself: a quota refuses a pod for which nothing is said. Pure. */
export function environmentDefaults(namespace: string, { containerMemory }: Required<EnvironmentLimits>): KubeObject {
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
