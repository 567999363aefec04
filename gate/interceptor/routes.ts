import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { functionLimits, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { ObjectSource } from './object-source.ts';

/** The function that a host name leads to. */
export interface Target {
  id: string;
  namespace: string;
  name: string;
  host: string;
  limits: RequestLimits;
}

/** What a function's requests are held to; kept current. */
export interface RequestLimits {
  /** Requests that one pod gets at once. */
  concurrency: number;
  /** How long a request may be without a byte, either way, before its answer begins. */
  timeoutMs: number;
}

/** Host name → function, kept current by the Function informer. */
export interface Routes {
  start(): void;
  stop(): void;
  /** The function of a request's Host header; the port and the case do not count. */
  find(hostHeader: string | undefined): Target | undefined;
  /** Every function with a route. */
  list(): Target[];
}

/** The name in a Host header: lower case, without port and trailing dot. */
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
 * Only `status.host` makes a route: the controller writes it once the host's claim is won, so that of two functions that
 * want one host never the loser gets a request.
 */
export function createRoutes(functions: ObjectSource<FunctionResource>): Routes {
  const byHost = new Map<string, Target>();
  const byUid = new Map<string, Target>();
  let unsubscribe: (() => void) | undefined;

  const remove = (uid: string) => {
    const known = byUid.get(uid);
    if (!known) return;
    byUid.delete(uid);
    if (byHost.get(known.host) === known) byHost.delete(known.host);
  };

  const put = (resource: Stored<FunctionResource>) => {
    const { uid } = resource.metadata;
    const target = targetOf(resource);
    const known = byUid.get(uid);
    // The same target object stays, so that a status update does not disturb what refers to it.
    if (target && known && known.host === target.host && known.id === target.id) {
      known.limits = target.limits;
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
