import {
  ingressRoute,
  isShared,
  routeGate,
  routeSecurity,
  sharedObjects,
  type WorkloadRoute,
} from '../../infra/manifests/workload-route.ts';
import type { KubeObject, ObjectRef, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel, managedLabels } from '../../runtime/domain/labels.ts';
import { deleteChild, ensureChild, ensureChildObject } from '../../runtime/kube/children.ts';
import { keyOf, managedSelection, type WatchDefinition } from '../../runtime/kube/controller.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { GateStep } from './gate-step.ts';

/** The workload if it is in the route's namespace; undefined where it cannot be the owner. */
type Owner = Stored<KubeObject> | undefined;

/** The kinds of the objects that the routes of a namespace share. */
const sharedKinds = [kinds.Middleware, kinds.ServersTransport];

/** Copies of shared objects that are as desired, which is the same for all routes. A change makes another copy. */
const current = new WeakSet<Stored<KubeObject>>();

/** Creates what the route names before the route: one that names a missing object serves nothing. */
export async function ensureRouteParts(kube: KubeClient, owner: Owner, route: WorkloadRoute): Promise<void> {
  for (const desired of sharedObjects(route)) {
    const { name, namespace } = desired.metadata;
    const kind = sharedKinds.find((each) => each.kind === desired.kind);
    const copy = kind && kube.cache?.get(kind, name, namespace);
    if (copy && current.has(copy)) continue;
    const { outcome, object } = await ensureChildObject(kube, undefined, desired, { cached: true });
    if (outcome === 'unchanged') current.add(object);
  }
  const security = routeSecurity(route);
  if (security) await ensureChild(kube, owner, security, { cached: true });
  const gate = routeGate(route);
  if (gate) await ensureChild(kube, owner, gate);
}

/**
 * Updates the route, and then deletes Middlewares that it no longer uses: in a reconcile after the one that changed it,
 * so that the ingress sees the route first, and not while a gate is being enabled or disabled. While the status reports
 * the state of a gate, the route is read instead of taken from the cache.
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
  const followed = gate.dismantle || (gate.demanded && gate.phase === 'gated');
  if (changed || !followed) return changed;
  const used = new Set([routeSecurity(route), routeGate(route)].map((middleware) => middleware?.metadata.name));
  // A Middleware that is not in the cache yet causes another reconcile.
  const existing =
    kube.cache?.list(kinds.Middleware, { ...managedLabels(), [idLabel]: route.id }) ??
    (await middlewaresOf(kube, route.id, route.metadata));
  for (const { metadata } of existing) {
    if (!used.has(metadata.name)) await deleteChild(kube, owner, refTo(kinds.Middleware, metadata));
  }
  return changed;
}

/**
 * Deletes a workload's route, and then the Middlewares that only it uses.
 * @returns whether all of it is deleted
 */
export async function deleteRoute(
  kube: KubeClient,
  owner: Owner,
  { id, ...place }: { id: Id; name: string; namespace: string },
): Promise<boolean> {
  let gone = await deleteChild(kube, owner, refTo(kinds.IngressRoute, place));
  for (const { metadata } of await middlewaresOf(kube, id, place)) {
    gone = (await deleteChild(kube, owner, refTo(kinds.Middleware, metadata))) && gone;
  }
  return gone;
}

/**
 * A change or deletion of a shared object of this kind reconciles the workloads whose routes use it, which restore it.
 * @param usersOf the workloads of the controller with routes in a namespace
 */
export function sharedObjectsWatch(
  kind: (typeof sharedKinds)[number],
  usersOf: (workloads: Stored<KubeObject>[], namespace: string) => Stored<KubeObject>[],
): WatchDefinition {
  return {
    kind,
    selection: managedSelection,
    ignoreAdded: true,
    keysOf: ({ metadata: { name, namespace } }, workloads) =>
      namespace === undefined || !isShared(name)
        ? []
        : usersOf(workloads(), namespace).map(({ metadata }) => keyOf(metadata)),
  };
}

/** The Middlewares that only the route of this workload uses or used, by its id. */
async function middlewaresOf(
  kube: Pick<KubeClient, 'list'>,
  id: Id,
  { namespace }: { namespace?: string },
): Promise<Stored<KubeObject>[]> {
  const selection = { ...(namespace !== undefined && { namespace }), labelSelector: `${idLabel}=${id}` };
  return (await kube.list(kinds.Middleware, selection)).items;
}

function refTo(
  { apiVersion, kind }: Pick<ResourceKind, 'apiVersion' | 'kind'>,
  { name, namespace }: { name: string; namespace?: string },
): ObjectRef {
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}
