import type { V1Condition, V1ObjectMeta, V1OwnerReference } from '@kubernetes/client-node';

/**
 * Kubernetes objects as plain JSON, the way the API server sends them. Field types come from `@kubernetes/client-node`;
 * only its types are imported, since the package itself takes 90 MB of a process (decision 0012).
 */

/**
 * The JSON form of one of the package's types: a `Date` becomes an RFC 3339 string, and a field that the package renames
 * because it is a reserved word, such as `_from`, gets its own name back.
 */
export type Json<T> = unknown extends T
  ? unknown
  : T extends Date
    ? string
    : T extends readonly (infer Item)[]
      ? Json<Item>[]
      : T extends object
        ? { [Field in keyof T as Field extends `_${infer Name}` ? Name : Field]: Json<T[Field]> }
        : T;

/**
 * A built-in object, such as `BuiltIn<V1Deployment, 'spec'>`.
 * @typeParam Required the optional fields that the object always has
 */
export type BuiltIn<T, Required extends keyof T = never> = Identity &
  Json<Omit<T, keyof Identity | Required> & { [Field in Required]-?: T[Field] }>;

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ */
export interface ObjectMeta extends Omit<Json<V1ObjectMeta>, 'name'> {
  name: string;
}

export type OwnerReference = V1OwnerReference;

/** The fields of every Kubernetes object. */
interface Identity {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** Any Kubernetes object; its users narrow `spec` and `status`. */
export interface KubeObject extends Identity {
  spec?: unknown;
  status?: unknown;
}

/** An object as read from the API server, with identity and version. */
export type Stored<T extends KubeObject> = T & { metadata: ObjectMeta & { uid: string; resourceVersion: string } };

/** https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#condition-v1-meta */
export interface Condition extends Json<V1Condition> {
  status: 'True' | 'False' | 'Unknown';
}

/** Names one object. */
export interface ObjectRef {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
}
