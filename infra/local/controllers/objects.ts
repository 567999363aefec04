import type { Condition, KubeObject, ObjectMeta } from '../../../runtime/contracts/kubernetes.ts';

/** The fields of Kubernetes' workload kinds that the controllers read and write. */

/** A selector of pods by labels. */
interface LabelSelector {
  matchLabels?: Record<string, string>;
}

/** A template for pods. */
export interface PodTemplate {
  metadata?: Partial<ObjectMeta>;
  spec: Record<string, unknown>;
}

export interface ReplicaSet extends KubeObject {
  apiVersion: 'apps/v1';
  kind: 'ReplicaSet';
  spec: { replicas?: number; selector: LabelSelector; template: PodTemplate };
  status?: {
    replicas: number;
    readyReplicas?: number;
    availableReplicas?: number;
    fullyLabeledReplicas?: number;
    observedGeneration?: number;
    conditions?: Condition[];
  };
}

export interface Deployment extends KubeObject {
  apiVersion: 'apps/v1';
  kind: 'Deployment';
  spec: {
    replicas?: number;
    selector: LabelSelector;
    template: PodTemplate;
    revisionHistoryLimit?: number;
    progressDeadlineSeconds?: number;
    strategy?: {
      type?: 'Recreate' | 'RollingUpdate';
      rollingUpdate?: { maxSurge?: number | string; maxUnavailable?: number | string };
    };
  };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    unavailableReplicas?: number;
    conditions?: (Condition & { lastUpdateTime?: string })[];
  };
}

export interface StatefulSet extends KubeObject {
  apiVersion: 'apps/v1';
  kind: 'StatefulSet';
  spec: {
    replicas?: number;
    selector: LabelSelector;
    serviceName?: string;
    template: PodTemplate;
    volumeClaimTemplates?: { metadata: Partial<ObjectMeta> & { name: string }; spec: unknown }[];
  };
  status?: Record<string, unknown>;
}

export interface BatchJob extends KubeObject {
  apiVersion: 'batch/v1';
  kind: 'Job';
  spec: {
    backoffLimit?: number;
    activeDeadlineSeconds?: number;
    ttlSecondsAfterFinished?: number;
    template: PodTemplate;
  };
  status?: {
    active?: number;
    ready?: number;
    succeeded?: number;
    failed?: number;
    startTime?: string;
    completionTime?: string;
    conditions?: Condition[];
  };
}

export interface CronJob extends KubeObject {
  apiVersion: 'batch/v1';
  kind: 'CronJob';
  spec: {
    schedule: string;
    timeZone?: string;
    concurrencyPolicy?: 'Allow' | 'Forbid' | 'Replace';
    suspend?: boolean;
    startingDeadlineSeconds?: number;
    successfulJobsHistoryLimit?: number;
    failedJobsHistoryLimit?: number;
    jobTemplate: { metadata?: Partial<ObjectMeta>; spec: BatchJob['spec'] };
  };
  status?: { active?: object[]; lastScheduleTime?: string; lastSuccessfulTime?: string | undefined };
}

export interface Service extends KubeObject {
  apiVersion: 'v1';
  kind: 'Service';
  spec: {
    type?: string;
    clusterIP?: string;
    selector?: Record<string, string>;
    ports?: { name?: string; port: number; targetPort?: number | string; protocol?: string }[];
  };
}

export interface EndpointSlice extends KubeObject {
  apiVersion: 'discovery.k8s.io/v1';
  kind: 'EndpointSlice';
  addressType: 'IPv4';
  endpoints: {
    addresses: string[];
    conditions: { ready: boolean; serving: boolean; terminating: boolean };
    targetRef: { kind: 'Pod'; namespace: string; name: string; uid: string };
  }[];
  ports: { name: string; port: number; protocol: string }[];
}

export interface PersistentVolumeClaim extends KubeObject {
  spec: { accessModes?: string[]; resources?: { requests?: { storage?: string } }; volumeName?: string };
  status?: { phase?: string; accessModes?: string[]; capacity?: { storage?: string } };
}

/** The condition of a ReplicaSet and its Deployment when the API server refuses their pods. */
export const replicaFailure = 'ReplicaFailure';
/** Label of an EndpointSlice: the name of its Service. */
export const serviceNameLabel = 'kubernetes.io/service-name';
/**
 * Annotation of a pod: its assigned port by declared port, such as `{"8080":20017}`
 * (docs/decisions/0009-pods-as-processes.md).
 */
export const containerPortsAnnotation = 'platform.svc/container-ports';

/** metav1.Time carries whole seconds. */
export function timestamp(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z');
}
