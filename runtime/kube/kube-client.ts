import type { KubeObject, ObjectRef, Stored } from '../contracts/kubernetes.ts';
import type { ResourceKind } from '../contracts/resources/kinds.ts';

/** Which objects a list or watch returns. Selectors in the API's own syntax, such as `app=api,platform.svc/role=serve`. */
export interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** A page-free list: all objects, and the version from which a watch continues. */
export interface ObjectList<T extends KubeObject> {
  items: Stored<T>[];
  resourceVersion: string;
}

export interface DeleteOptions {
  /** Refused with a conflict when the object is another one by now. */
  preconditions?: { uid?: string; resourceVersion?: string };
  /** Default `Background`. */
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  /** Of pods: seconds that they may take to end; 0 removes the object at once. Default: the pod's own. */
  gracePeriodSeconds?: number;
}

/** One event of a watch. A bookmark carries only `metadata.resourceVersion`. */
export interface WatchEvent<T extends KubeObject> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: Stored<T>;
}

/** An answer of the API server other than success. `status` is its HTTP status, `reason` its machine-readable reason. */
export class KubeError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'KubeError';
    this.status = status;
    this.reason = reason;
  }
}

/** The reason of a 403 to a create in a namespace that is being deleted. */
export const namespaceTerminating = 'NamespaceTerminating';

/** Whether an error is a {@link KubeError} with this HTTP status: 404 not found, 409 conflict or exists, 410 gone. */
export function isKubeError(error: unknown, status?: number): error is KubeError {
  return error instanceof KubeError && (status === undefined || error.status === status);
}

/**
 * The platform's one way to Kubernetes (design.md §1): create, replace, JSON merge patch, the scale subresource and
 * delete, nothing else. Every call rejects with a {@link KubeError} when the API server refuses, and after
 * 30 s without an answer.
 */
export interface KubeClient {
  /** The object, or undefined when there is none. */
  get<T extends KubeObject>(kind: ResourceKind, name: string, namespace?: string): Promise<Stored<T> | undefined>;
  list<T extends KubeObject>(kind: ResourceKind, selection?: Selection): Promise<ObjectList<T>>;
  /** @throws KubeError 409 `AlreadyExists` */
  create<T extends KubeObject>(object: T): Promise<Stored<T>>;
  /** Replaces the object as a whole; `metadata.resourceVersion` is required. @throws KubeError 409 `Conflict` */
  replace<T extends KubeObject>(object: Stored<T>): Promise<Stored<T>>;
  /** Replaces the status subresource; `metadata.resourceVersion` is required. @throws KubeError 409 `Conflict` */
  replaceStatus<T extends KubeObject>(object: Stored<T>): Promise<Stored<T>>;
  /** A JSON merge patch (RFC 7386); put `metadata.resourceVersion` into the patch to make it conditional. */
  mergePatch<T extends KubeObject>(ref: ObjectRef, patch: object, subresource?: 'status'): Promise<Stored<T>>;
  /** Deletes; false when there was nothing to delete. @throws KubeError 409 when a precondition does not hold */
  delete(ref: ObjectRef, options?: DeleteOptions): Promise<boolean>;
  /** A Deployment's replica counts through its scale subresource. */
  getScale(namespace: string, name: string): Promise<Scale | undefined>;
  /** Sets the count if nobody changed the Deployment since `scale` was read. @throws KubeError 409 */
  replaceScale(scale: Scale, replicas: number): Promise<void>;
  /**
   * One watch connection, from `resourceVersion` on, with bookmarks: yields until the server ends it, and throws a
   * {@link KubeError} (410 when the version is too old) or a connection error. Long-lived use belongs to the informer.
   */
  watch<T extends KubeObject>(
    kind: ResourceKind,
    selection: Selection & { resourceVersion: string },
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>;
  /** A GET of a text resource, such as a pod's log (`/api/v1/namespaces/…/pods/…/log`), for as long as it goes on. */
  stream(path: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** What watches have brought already, where there are some. */
  readonly cache?: KubeCache;
}

/**
 * Reads that cost no request and may be a moment old. Good enough to find that nothing is to do, since whatever changes
 * brings another pass; never enough to delete something.
 */
export interface KubeCache {
  /** The object as it was last seen; undefined proves nothing. */
  get<T extends KubeObject>(kind: ResourceKind, name: string, namespace?: string): Stored<T> | undefined;
  /** All objects with these labels; undefined where no copy has them all. */
  list<T extends KubeObject>(
    kind: ResourceKind,
    labels: Readonly<Record<string, string>>,
    namespace?: string,
  ): Stored<T>[] | undefined;
}

/** https://kubernetes.io/docs/reference/kubernetes-api/autoscaling-resources/scale-v1/ */
export interface Scale {
  namespace: string;
  name: string;
  resourceVersion: string;
  /** Wanted. */
  replicas: number;
  /** Existing. */
  currentReplicas: number;
}
