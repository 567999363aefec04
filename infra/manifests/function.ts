import type { V1Deployment, V1DeploymentSpec, V1PodSpec } from '@kubernetes/client-node';
import type { BuiltIn, Json } from '../../runtime/contracts/kubernetes.ts';
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
const interceptorService = 'svc-interceptor';
/** On the function's route, `<namespace>/<name>`: the route is in another namespace, and so has no owner reference. */
export const functionAnnotation = `${apiGroup}/function`;
/** On a pod template: when a restart was requested. */
export const restartAnnotation = `${apiGroup}/restarted-at`;
/** After a scale-down, a pod gets requests until every interceptor knows that it is stopping. */
const preStopSeconds = 4;

/** The template of a function's pods. {@link functionContainer} names the container that runs the code. */
export interface FunctionTemplate {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: Json<V1PodSpec>;
}

/** A function's Deployment object. Interceptors and the scaler decide its replica count. */
export type FunctionDeployment = BuiltIn<V1Deployment> & {
  spec: Omit<Json<V1DeploymentSpec>, 'template'> & { replicas: number; template: FunctionTemplate };
};

/**
 * The function's Deployment object, at zero replicas. A count is sent on creation only; afterwards the interceptors and
 * the scaler own it. Pure.
 * @param options.exclusive whether it mounts a volume that only one pod at a time can mount: then the old pod stops before
 * the new one starts
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
            // For status and rolling updates only; the interceptors probe the address themselves.
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
 * The function's public route. The route and its Middlewares are in the namespace of the interceptors' Service, since
 * Traefik may not allow a route to name a Service of another namespace. The function's finalizer deletes them. Pure.
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
  };
}
