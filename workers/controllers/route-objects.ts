import {
  gateMiddlewares,
  ingressRoute,
  middlewareNames,
  routeRetry,
  routeSecurity,
  type WorkloadRoute,
} from '../../infra/manifests/workload-route.ts';
import type { KubeObject, ObjectRef, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import { deleteChild, ensureChild } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { GateStep } from './gate-step.ts';

/** The workload, where its route lies beside it; undefined where it cannot be an owner. */
type Owner = Stored<KubeObject> | undefined;

/** What the route is about to name is there before it: a route that names what is not there serves nothing. */
export async function ensureMiddlewares(kube: KubeClient, owner: Owner, route: WorkloadRoute): Promise<void> {
  for (const middleware of [routeRetry(route), routeSecurity(route)]) {
    if (middleware) await ensureChild(kube, owner, middleware, { cached: true });
  }
  if (route.gated) for (const middleware of gateMiddlewares(route)) await ensureChild(kube, owner, middleware);
}

/**
 * Brings the route to what it should be, and then deletes the Middlewares that it no longer names: in a pass after the one
 * that changed it, since the ingress is to hear of the route first. While something is claimed of a gate, the route is
 * read, since what is claimed has to be so.
 * @returns whether the route was not as it should be
 */
export async function ensureRoute(
  kube: KubeClient,
  owner: Owner,
  route: WorkloadRoute,
  gate: GateStep,
): Promise<boolean> {
  const settled = gate.phase === 'off' && !gate.demanded;
  const changed = (await ensureChild(kube, owner, ingressRoute(route), { cached: settled })) !== 'unchanged';
  const names = middlewareNames(route.metadata.name);
  const unused = [...(gate.dismantle ? names.gate : []), ...(changed || routeSecurity(route) ? [] : [names.security])];
  for (const name of unused) {
    // What the watches have not brought yet brings another pass when they do.
    if (kube.cache && !kube.cache.get(kinds.Middleware, name, route.metadata.namespace)) continue;
    await deleteChild(kube, owner, refTo(kinds.Middleware, route.metadata, name));
  }
  return changed;
}

/** Every object that a route of this name may have, in the order of deletion: first nothing leads anywhere any more. */
export function routeRefs(place: { name: string; namespace?: string }): ObjectRef[] {
  const { gate, security, retry } = middlewareNames(place.name);
  return [
    refTo(kinds.IngressRoute, place, place.name),
    ...[...gate, security, retry].map((middleware) => refTo(kinds.Middleware, place, middleware)),
  ];
}

function refTo(
  { apiVersion, kind }: Pick<ResourceKind, 'apiVersion' | 'kind'>,
  { namespace }: { namespace?: string },
  name: string,
): ObjectRef {
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}
