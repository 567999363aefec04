import type { WebSocket } from 'ws';
import type { KubeObject, ObjectRef, Stored } from '../contracts/kubernetes.ts';
import type { ResourceKind } from '../contracts/resources/kinds.ts';

/** Selects the objects of a list or watch, with selectors in the API's syntax such as `app=api,platform.svc/role=serve`. */
export interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** A complete list, with the version from which a watch can continue. */
export interface ObjectList<T extends KubeObject> {
  items: Stored<T>[];
  resourceVersion: string;
}

interface DeleteOptions {
  /** Refused with a conflict when the object has another uid or version. */
  preconditions?: { uid?: string; resourceVersion?: string };
  /** Default `Background`. */
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  /** For pods: seconds to terminate; 0 removes the object at once. Default: the pod's own. */
  gracePeriodSeconds?: number;
}

/** One event of a watch. A bookmark carries only `metadata.resourceVersion`. */
export interface WatchEvent<T extends KubeObject> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: Stored<T>;
}

/** An error response of the API server. `status` is its HTTP status, `reason` its machine-readable reason. */
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
 * The only access of the platform to Kubernetes, with few operations: create, replace, JSON merge patch, the scale
 * subresource and delete. Every call rejects with a {@link KubeError} when the API server refuses, and after 30 s without
 * a response.
 */
export interface KubeClient {
  /** Undefined when the object does not exist. */
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
  /** @returns false when the object does not exist @throws KubeError 409 when a precondition does not hold */
  delete(ref: ObjectRef, options?: DeleteOptions): Promise<boolean>;
  /** A Deployment's replica counts through its scale subresource. */
  getScale(namespace: string, name: string): Promise<Scale | undefined>;
  /** Sets the replicas unless the Deployment changed since `scale` was read. @throws KubeError 409 */
  replaceScale(scale: Scale, replicas: number): Promise<void>;
  /**
   * One watch connection from `resourceVersion` on, with bookmarks. Yields until the server ends it; throws a
   * {@link KubeError} (410 when the version is too old) or a connection error. Use an informer to watch for longer.
   * @param onOpen called when the server has accepted the watch
   */
  watch<T extends KubeObject>(
    kind: ResourceKind,
    selection: Selection & { resourceVersion: string },
    signal: AbortSignal,
    onOpen?: () => void,
  ): AsyncIterable<WatchEvent<T>>;
  /** A GET of a text resource, such as a pod's log (`/api/v1/namespaces/…/pods/…/log`), until it ends. */
  stream(path: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** The cache of the informers, if there are any. */
  readonly cache?: KubeCache;
  /** Answers reads from copies, if the process keeps any (docs/decisions/0091-reads-from-copies.md). */
  readonly copies?: ObjectReader;
}

/** Reads objects. */
export type ObjectReader = Pick<KubeClient, 'get' | 'list'>;

/** Runs commands in containers. */
export interface KubeExec {
  /**
   * Starts a command (`pods/exec`) and connects its input and output, in messages of the protocol
   * `runtime/contracts/exec-channels.ts`. The connection closes when `signal` aborts.
   * @param query `container`, `command`, `stdin`, `stdout`, `stderr` and `tty`, as in the API
   * @throws KubeError
   */
  openExec(pod: { namespace: string; name: string }, query: URLSearchParams, signal: AbortSignal): Promise<WebSocket>;
}

/**
 * Reads from the informers without a request; they may be slightly outdated. Use them to find that nothing has to be done,
 * because every change causes another reconcile, but never to delete something.
 */
export interface KubeCache {
  /** The last known state of the object; undefined does not mean that it does not exist. */
  get<T extends KubeObject>(kind: ResourceKind, name: string, namespace?: string): Stored<T> | undefined;
  /** All objects with these labels; undefined where no informer has all of them. */
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
  /** In the spec. */
  replicas: number;
  /** In the status. */
  currentReplicas: number;
}
