import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { ContainerState, ContainerStatus, Pod } from '../../../runtime/contracts/pod.ts';

/** The fields of a pod that the node understands, as Kubernetes has them. What is not here has no effect. */

export interface Probe {
  httpGet?: { path?: string; port: number | string; scheme?: string; httpHeaders?: { name: string; value: string }[] };
  tcpSocket?: { port: number | string };
  exec?: { command: string[] };
  initialDelaySeconds?: number;
  periodSeconds?: number;
  timeoutSeconds?: number;
  successThreshold?: number;
  failureThreshold?: number;
  terminationGracePeriodSeconds?: number;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: {
    secretKeyRef?: KeyRef;
    configMapKeyRef?: KeyRef;
    fieldRef?: { fieldPath: string };
    resourceFieldRef?: { containerName?: string; resource: string };
  };
}

interface KeyRef {
  name: string;
  key: string;
  optional?: boolean;
}

export interface EnvFrom {
  prefix?: string;
  secretRef?: { name: string; optional?: boolean };
  configMapRef?: { name: string; optional?: boolean };
}

export interface ContainerPort {
  name?: string;
  containerPort: number;
  protocol?: string;
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  /** Of an init container: `Always` makes it a sidecar. */
  restartPolicy?: 'Always';
  ports?: ContainerPort[];
  env?: EnvVar[];
  envFrom?: EnvFrom[];
  resources?: { limits?: Record<string, string>; requests?: Record<string, string> };
  volumeMounts?: { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[];
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  lifecycle?: { preStop?: { sleep?: { seconds: number }; exec?: { command: string[] }; httpGet?: Probe['httpGet'] } };
  terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
  securityContext?: { runAsUser?: number; runAsGroup?: number };
}

export interface KeyToPath {
  key: string;
  path: string;
  mode?: number;
}

interface SecretSource {
  name?: string;
  secretName?: string;
  items?: KeyToPath[];
  optional?: boolean;
  defaultMode?: number;
}

export interface Projection {
  secret?: SecretSource;
  configMap?: SecretSource;
  serviceAccountToken?: { path: string; audience?: string; expirationSeconds?: number };
  downwardAPI?: { items?: { path: string; fieldRef?: { fieldPath: string } }[] };
}

export interface Volume {
  name: string;
  emptyDir?: object;
  secret?: SecretSource;
  configMap?: SecretSource;
  downwardAPI?: NonNullable<Projection['downwardAPI']>;
  projected?: { sources: Projection[]; defaultMode?: number };
  persistentVolumeClaim?: { claimName: string };
}

/** A pod as the node sees it. */
export interface NodePod extends KubeObject {
  apiVersion: 'v1';
  kind: 'Pod';
  spec: {
    nodeName?: string;
    hostname?: string;
    restartPolicy?: 'Always' | 'OnFailure' | 'Never';
    terminationGracePeriodSeconds?: number;
    serviceAccountName?: string;
    automountServiceAccountToken?: boolean;
    enableServiceLinks?: boolean;
    securityContext?: { runAsUser?: number; runAsGroup?: number; fsGroup?: number };
    initContainers?: Container[];
    containers: Container[];
    volumes?: Volume[];
  };
  status?: Pod['status'] & { hostIP?: string; startTime?: string };
}

export type { ContainerState, ContainerStatus };

/** Init containers, sidecars among them, and the others, in the order of their start. */
export function allContainers({ spec }: NodePod): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

/** The value of a downward `fieldPath`, such as `metadata.labels['app']`; undefined for one that is not known. */
export function fieldOf(pod: NodePod, path: string, address: string): string | undefined {
  const { name, namespace, uid, labels = {}, annotations = {} } = pod.metadata;
  const entry = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (entry) return (entry[1] === 'labels' ? labels : annotations)[entry[2] ?? ''] ?? '';
  const lines = (values: Record<string, string>) =>
    Object.entries(values)
      .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
      .join('\n');
  const fields: Record<string, string | undefined> = {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'metadata.uid': uid,
    'metadata.labels': lines(labels),
    'metadata.annotations': lines(annotations),
    'spec.nodeName': pod.spec.nodeName,
    'spec.serviceAccountName': pod.spec.serviceAccountName ?? 'default',
    'status.podIP': address,
    'status.podIPs': address,
    'status.hostIP': address,
  };
  return fields[path];
}
