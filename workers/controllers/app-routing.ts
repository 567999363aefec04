import {
  appMiddlewareNames,
  appMiddlewares,
  appRetry,
  appRoute,
  appSecurity,
  type AppRouteInput,
} from '../../infra/manifests/app-route.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, AppSpec } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { appHost, checkHost } from '../../runtime/domain/names.ts';
import { checkExtraHosts } from '../../runtime/domain/public-hosts.ts';
import { deleteChild, ensureChild } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** The app's public hosts; the first is the one of its URL. @throws Problem `invalid_value` */
export function publicHosts(
  { hostname, extraHosts = [] }: Pick<AppSpec, 'hostname' | 'extraHosts'>,
  { name, namespace }: { name: string; namespace: string },
  { appsDomain }: Pick<PlatformConfigSpec, 'appsDomain'>,
): readonly [string, ...string[]] {
  const first = hostname === undefined ? appHost(name, namespace, appsDomain) : checkHost(hostname);
  return [first, ...checkExtraHosts(extraHosts, first, { appsDomain, label: `${name}--${namespace}` })];
}

/** What the route is about to name is there before it: a route that names what is not there serves nothing. */
export async function ensureMiddlewares(kube: KubeClient, app: Stored<App>, route: AppRouteInput): Promise<void> {
  await ensureChild(kube, app, appRetry(route), { cached: true });
  const security = appSecurity(route);
  if (security) await ensureChild(kube, app, security, { cached: true });
  if (route.gated) for (const middleware of appMiddlewares(route)) await ensureChild(kube, app, middleware);
}

/**
 * @param settled whether nothing is claimed of a gate; else the route is read, since what is claimed has to be so
 * @returns whether the route was not as it should be
 */
export async function ensureRoute(
  kube: KubeClient,
  app: Stored<App>,
  route: AppRouteInput,
  settled: boolean,
): Promise<boolean> {
  return (await ensureChild(kube, app, appRoute(route), { cached: settled })) !== 'unchanged';
}

/**
 * Deletes the Middlewares that the route no longer names, in a pass after the one that changed it, since the ingress is
 * to hear of the route first.
 * @param may whether this pass changed the route, and whether the gate's may go
 */
export async function collectMiddlewares(
  kube: KubeClient,
  app: Stored<App>,
  route: AppRouteInput,
  may: { changed: boolean; gate: boolean },
): Promise<void> {
  const { security, gate } = appMiddlewareNames(route.name);
  const unused = [...(may.gate ? gate : []), ...(may.changed || appSecurity(route) ? [] : [security])];
  const { apiVersion, kind } = kinds.Middleware;
  for (const name of unused) {
    // What the watches have not brought yet brings another pass when they do.
    if (kube.cache && !kube.cache.get(kinds.Middleware, name, route.namespace)) continue;
    await deleteChild(kube, app, { apiVersion, kind, namespace: route.namespace, name });
  }
}
