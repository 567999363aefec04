/**
 * The shapes of Kubernetes objects as the platform passes them around: plain JSON, as the API server sends it.
 * Times stay RFC 3339 strings. https://kubernetes.io/docs/reference/using-api/api-concepts/
 */

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Any Kubernetes object; builders and readers narrow `spec` and `status`. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: unknown;
  status?: unknown;
}

/** An object as it was read: it has an identity and a version. */
export type Stored<T extends KubeObject> = T & {
  metadata: ObjectMeta & { uid: string; resourceVersion: string };
};

/** https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#condition-v1-meta */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** Names one object. */
export interface ObjectRef {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
}
