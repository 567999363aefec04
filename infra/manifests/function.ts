import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import {
  apiGroup,
  idLabel,
  kindLabel,
  managedLabels,
  podLabels,
  servingSelector,
  systemNamespace,
  workloadLabels,
} from '../../runtime/domain/labels.ts';
import { eventSidecar } from './event-sidecar.ts';
import { workloadOf, type FunctionIdentity } from './function-identity.ts';
import { functionPod, type FunctionWorkload, type RunWith } from './function-pod.ts';
import type { WorkloadRoute } from './workload-route.ts';

/** The Service in front of the interceptors, in the system namespace. */
export const interceptorService = 'svc-interceptor';
/** On the function's route, which lies in another namespace and so cannot name its owner: `<namespace>/<name>`. */
export const functionAnnotation = `${apiGroup}/function`;
/** On a pod template: when its pods were asked to start anew. */
export const restartAnnotation = `${apiGroup}/restarted-at`;
/** After a scale-down a pod still gets requests until every interceptor has seen that it goes. */
const preStopSeconds = 4;

/** What its pods are made of; `containers` has the one that runs the code. */
export interface FunctionTemplate {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: object;
}

/** A Deployment of which others decide the replica count. */
export interface FunctionDeployment extends KubeObject {
  spec: { replicas: number; template: FunctionTemplate } & Record<string, unknown>;
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
  };
}

/**
 * The function's Deployment, at zero replicas: that count is sent at creation only, and then belongs to interceptors and
 * scaler (design.md §7). Pure.
 * @param options.exclusive whether it mounts a volume that only one pod at a time may have: then an old pod goes before the
 * new one comes
 */
export function functionDeployment(
  identity: FunctionIdentity,
  spec: FunctionWorkload & Pick<FunctionSpec, 'port' | 'events' | 'requestTimeoutSeconds' | 'restartedAt'>,
  { exclusive = false, ...runWith }: RunWith & { exclusive?: boolean },
): FunctionDeployment {
  const { name, namespace } = identity;
  const { restartedAt } = spec;
  const workload = workloadOf(identity);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels: workloadLabels(workload) },
    spec: {
      replicas: 0,
      revisionHistoryLimit: 1,
      selector: { matchLabels: servingSelector(workload) },
      strategy: exclusive
        ? { type: 'Recreate' }
        : { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: {
          labels: podLabels(workload, 'serve'),
          ...(restartedAt !== undefined && { annotations: { [restartAnnotation]: restartedAt } }),
        },
        spec: functionPod(identity, spec, {
          ...runWith,
          env: [{ name: 'PORT', value: String(spec.port) }],
          sidecar: eventSidecar(spec, runWith.eventImage ?? runWith.image),
          container: {
            ports: [{ name: 'http', containerPort: spec.port, protocol: 'TCP' }],
            // The interceptors probe the address themselves; this is for status and rolling updates.
            readinessProbe: { tcpSocket: { port: 'http' }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 3 },
            lifecycle: { preStop: { sleep: { seconds: preStopSeconds } } },
          },
        }),
      },
    },
  };
}

/** The name of a function's route in the system namespace. */
export function functionRouteName(id: Id): string {
  return `fn-${id}`;
}

/**
 * The function's public route. It and its Middlewares lie beside the interceptors' Service, since a route may name those of
 * another namespace only where Traefik allows it; the function's finalizer removes them. Pure.
 */
export function functionRoute(
  { id, name, namespace }: FunctionIdentity,
  settings: Pick<WorkloadRoute, 'hosts' | 'entryPoints' | 'scheme' | 'gated' | 'security'>,
): WorkloadRoute {
  return {
    ...settings,
    id,
    metadata: {
      name: functionRouteName(id),
      namespace: systemNamespace,
      labels: { ...managedLabels(), [kindLabel]: 'Function', [idLabel]: id },
      annotations: { [functionAnnotation]: `${namespace}/${name}` },
    },
    service: { kind: 'Service', name: interceptorService, port: 80, passHostHeader: true },
    // The interceptors find another pod themselves.
    retried: false,
  };
}
