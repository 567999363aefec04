import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';

/** The fields of a pod that the node supports, as in Kubernetes. All other fields have no effect. */

export interface Probe {
  httpGet?: { path?: string; port: string | number };
  tcpSocket?: { port: string | number };
  exec?: { command: string[] };
  periodSeconds?: number;
  timeoutSeconds?: number;
  failureThreshold?: number;
  terminationGracePeriodSeconds?: number;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: {
    secretKeyRef?: { name: string; key: string };
    configMapKeyRef?: { name: string; key: string };
    fieldRef?: { fieldPath: string };
  };
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  /** Init containers only: `Always` makes it a sidecar. */
  restartPolicy?: 'Always';
  ports?: { name?: string; containerPort: number }[];
  env?: EnvVar[];
  envFrom?: { secretRef?: { name: string }; configMapRef?: { name: string } }[];
  resources?: { limits?: Record<string, string> };
  volumeMounts?: { name: string; mountPath: string }[];
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  lifecycle?: { preStop?: { sleep?: { seconds: number } } };
  terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
}

export interface Volume {
  name: string;
  emptyDir?: object;
  secret?: { secretName: string; defaultMode?: number; optional?: boolean };
  configMap?: { name: string; defaultMode?: number };
  projected?: { sources: { serviceAccountToken?: { path: string; audience?: string; expirationSeconds?: number } }[] };
  persistentVolumeClaim?: { claimName: string };
}

/** A pod as the node sees it. */
export interface NodePod extends KubeObject {
  apiVersion: 'v1';
  kind: 'Pod';
  spec: {
    nodeName?: string;
    restartPolicy?: 'Always' | 'OnFailure' | 'Never';
    terminationGracePeriodSeconds?: number;
    serviceAccountName?: string;
    automountServiceAccountToken?: boolean;
    initContainers?: Container[];
    containers: Container[];
    volumes?: Volume[];
  };
  status?: Pod['status'] & { hostIP?: string; startTime?: string };
}

/** Init containers (including sidecars), then the main ones, in their starting order. */
export function allContainers({ spec }: NodePod): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}
