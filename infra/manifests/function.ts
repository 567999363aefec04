import { createHash } from 'node:crypto';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
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
import { publicRoute } from './public-route.ts';

/** The Service in front of the interceptors, in the system namespace. */
export const interceptorService = 'svc-interceptor';
/** On the function's route, which lies in another namespace and so cannot name its owner: `<namespace>/<name>`. */
export const functionAnnotation = `${apiGroup}/function`;
/** What a child is, where a function has several of one kind. */
export const partLabel = `${apiGroup}/part`;
/** The name of the container that runs the code. */
export const functionContainer = 'function';

const codeDirectory = '/var/run/svc/code';
const codeFile = 'handler.js';
/** The user of the runtime images (infra/images). */
const runtimeUser = 10_001;
/** After a scale-down a pod still gets requests until every interceptor has seen that it goes. */
const preStopSeconds = 4;
const graceSeconds = 30;

/** What the builders need of a function. */
export interface FunctionIdentity {
  id: Id;
  name: string;
  namespace: string;
}

/** A Deployment of which others decide the replica count. */
export interface FunctionDeployment extends KubeObject {
  spec: { replicas: number } & Record<string, unknown>;
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
  };
}

export interface CodeConfigMap extends KubeObject {
  immutable: true;
  data: Record<string, string>;
}

const workloadOf = ({ id, name }: FunctionIdentity) => ({ kind: 'Function' as const, id, name });

/** The ConfigMap's name carries a digest of the code, so that new code is a new object and a running pod keeps its own. */
export function codeConfigMapName(name: string, code: string): string {
  return `function-${name}-code-${createHash('sha256').update(code).digest('hex').slice(0, 12)}`;
}

/** The function's source text; immutable, so that the kubelet need not watch it. Pure. */
export function codeConfigMap(identity: FunctionIdentity, spec: Pick<FunctionSpec, 'code'>): CodeConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: codeConfigMapName(identity.name, spec.code),
      namespace: identity.namespace,
      labels: { ...workloadLabels(workloadOf(identity)), [partLabel]: 'code' },
    },
    immutable: true,
    data: { [codeFile]: spec.code },
  };
}

/**
 * The function's Deployment, at zero replicas: that count is sent at creation only, and then belongs to interceptors and
 * scaler (design.md §7). Pure.
 */
export function functionDeployment(
  identity: FunctionIdentity,
  spec: Pick<FunctionSpec, 'code' | 'port'>,
  image: string,
): FunctionDeployment {
  const { name, namespace } = identity;
  const workload = workloadOf(identity);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels: workloadLabels(workload) },
    spec: {
      replicas: 0,
      revisionHistoryLimit: 1,
      selector: { matchLabels: servingSelector(workload) },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels: podLabels(workload, 'serve') },
        spec: {
          // User code gets neither the Kubernetes API nor a list of the namespace's Services.
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: graceSeconds,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: runtimeUser,
            runAsGroup: runtimeUser,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: functionContainer,
              image,
              ports: [{ name: 'http', containerPort: spec.port, protocol: 'TCP' }],
              env: [
                { name: 'PORT', value: String(spec.port) },
                { name: 'SVC_CODE_FILE', value: `${codeDirectory}/${codeFile}` },
              ],
              // The interceptors probe the address themselves; this is for status and rolling updates.
              readinessProbe: { tcpSocket: { port: 'http' }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 3 },
              lifecycle: { preStop: { sleep: { seconds: preStopSeconds } } },
              // The end of the log becomes the pod's own status, so that nobody needs the right to read logs.
              terminationMessagePolicy: 'FallbackToLogsOnError',
              resources: { requests: { cpu: '20m', memory: '48Mi' }, limits: { memory: '256Mi' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              volumeMounts: [
                { name: 'code', mountPath: codeDirectory, readOnly: true },
                { name: 'tmp', mountPath: '/tmp' },
              ],
            },
          ],
          volumes: [
            { name: 'code', configMap: { name: codeConfigMapName(name, spec.code) } },
            { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
          ],
        },
      },
    },
  };
}

/** The name of a function's route in the system namespace. */
export function functionRouteName(id: Id): string {
  return `fn-${id}`;
}

/**
 * The function's public route. It lies beside the interceptors' Service, since a route may name a Service of another
 * namespace only where Traefik allows it; the function's finalizer removes it. Pure.
 */
export function functionRoute(
  identity: FunctionIdentity,
  host: string,
  config: Pick<PlatformConfigSpec, 'entryPoints'>,
): KubeObject {
  return publicRoute({
    metadata: {
      name: functionRouteName(identity.id),
      namespace: systemNamespace,
      labels: { ...managedLabels(), [kindLabel]: 'Function', [idLabel]: identity.id },
      annotations: { [functionAnnotation]: `${identity.namespace}/${identity.name}` },
    },
    hosts: [host],
    entryPoints: config.entryPoints,
    service: { kind: 'Service', name: interceptorService, port: 80, passHostHeader: true },
  });
}
