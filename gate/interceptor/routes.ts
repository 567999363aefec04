import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { functionLimits, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { ObjectSource } from './object-source.ts';

/** The function that a host name routes to. */
export interface Target {
  id: string;
  namespace: string;
  name: string;
  host: string;
  limits: RequestLimits;
}

/** The limits of a function's requests, kept current. */
interface RequestLimits {
  /** Maximum concurrent requests of one pod. */
  concurrency: number;
  /** Time-out without data in either direction before the response begins. */
  timeoutMs: number;
}

/** Maps host names to functions, from the Function informer. */
export interface Routes {
  start(): void;
  stop(): void;
  /** The function of a request's Host header, ignoring the port and case. */
  find(hostHeader: string | undefined): Target | undefined;
  /** All functions with a route. */
  list(): Target[];
}

/** The name in a Host header, in lower case without port and trailing dot. */
export function hostOf(header: string): string {
  const colon = header.indexOf(':');
  const name = (colon < 0 ? header : header.slice(0, colon)).toLowerCase();
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

function targetOf(resource: Stored<FunctionResource>): Target | undefined {
  const { name, namespace, labels, deletionTimestamp } = resource.metadata;
  const id = labels?.[idLabel];
  const host = resource.status?.host;
  if (id === undefined || host === undefined || namespace === undefined || deletionTimestamp !== undefined) {
    return undefined;
  }
  const { concurrency, requestTimeoutSeconds } = functionLimits(resource.spec);
  return { id, namespace, name, host, limits: { concurrency, timeoutMs: requestTimeoutSeconds * 1_000 } };
}

/**
 * Only `status.host` makes a route: the controller sets it after the host is claimed, so that of two functions with the
 * same host only the owner of the claim gets requests.
 */
export function createRoutes(functions: ObjectSource<FunctionResource>): Routes {
  const byHost = new Map<string, Target>();
  const byUid = new Map<string, Target>();
  let unsubscribe: (() => void) | undefined;

  const remove = (uid: string) => {
    const current = byUid.get(uid);
    if (!current) return;
    byUid.delete(uid);
    if (byHost.get(current.host) === current) byHost.delete(current.host);
  };

  const put = (resource: Stored<FunctionResource>) => {
    const { uid } = resource.metadata;
    const target = targetOf(resource);
    const current = byUid.get(uid);
    // Keeps the target object, so that a status update does not affect its holders.
    if (target && current && current.host === target.host && current.id === target.id) {
      current.limits = target.limits;
      return;
    }
    remove(uid);
    if (!target) return;
    byUid.set(uid, target);
    byHost.set(target.host, target);
  };

  return {
    start() {
      unsubscribe = functions.onChange(({ type, object }) => {
        if (type === 'deleted') remove(object.metadata.uid);
        else put(object);
      });
      for (const resource of functions.list()) put(resource);
    },
    stop() {
      unsubscribe?.();
    },
    find: (header) => (header === undefined ? undefined : (byHost.get(header) ?? byHost.get(hostOf(header)))),
    list: () => [...byUid.values()],
  };
}
