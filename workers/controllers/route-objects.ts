import {
  gateMiddlewares,
  ingressRoute,
  middlewareNames,
  routeRetry,
  routeSecurity,
  stripMiddlewares,
  type WorkloadRoute,
} from '../../infra/manifests/workload-route.ts';
import type { KubeObject, ObjectRef, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import { deleteChild, ensureChild } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { GateStep } from './gate-step.ts';

/** The workload if it is in the route's namespace; undefined where it cannot be the owner. */
type Owner = Stored<KubeObject> | undefined;

/** Creates the Middlewares before the route: a route with a missing Middleware serves nothing. */
export async function ensureMiddlewares(kube: KubeClient, owner: Owner, route: WorkloadRoute): Promise<void> {
  for (const middleware of [routeRetry(route), routeSecurity(route), ...stripMiddlewares(route)]) {
    if (middleware) await ensureChild(kube, owner, middleware, { cached: true });
  }
  if (route.gated) for (const middleware of gateMiddlewares(route)) await ensureChild(kube, owner, middleware);
}

/**
 * Updates the route, and then deletes Middlewares that it no longer uses: in a reconcile after the one that changed it,
 * so that the ingress sees the route first. While the status reports the state of a gate, the route is read instead of
 * taken from the cache.
 * @returns whether the route changed
 */
export async function ensureRoute(
  kube: KubeClient,
  owner: Owner,
  route: WorkloadRoute,
  gate: GateStep,
): Promise<boolean> {
  const neverGated = gate.phase === 'off' && !gate.demanded;
  const changed = (await ensureChild(kube, owner, ingressRoute(route), { cached: neverGated })) !== 'unchanged';
  const names = middlewareNames(route.metadata.name);
  const unused = [
    ...(gate.dismantle ? names.gate : []),
    ...(changed || routeSecurity(route) ? [] : [names.security]),
    ...(changed || !route.gated ? [] : [names.strip, names.stripKey]),
  ];
  for (const name of unused) {
    // A Middleware that is not in the cache yet causes another reconcile.
    if (kube.cache && !kube.cache.get(kinds.Middleware, name, route.metadata.namespace)) continue;
    await deleteChild(kube, owner, refTo(kinds.Middleware, route.metadata, name));
  }
  return changed;
}

/** All objects that a route of this name may have, in the order of deletion: the route first. */
export function routeRefs(ref: { name: string; namespace?: string }): ObjectRef[] {
  const { gate, security, strip, stripKey, retry } = middlewareNames(ref.name);
  return [
    refTo(kinds.IngressRoute, ref, ref.name),
    ...[...gate, security, strip, stripKey, retry].map((middleware) => refTo(kinds.Middleware, ref, middleware)),
  ];
}

function refTo(
  { apiVersion, kind }: Pick<ResourceKind, 'apiVersion' | 'kind'>,
  { namespace }: { namespace?: string },
  name: string,
): ObjectRef {
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}
