import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Informer } from '../../../runtime/kube/informer.ts';
import { notFoundAnswer, type Handler, type Layer } from './exchange.ts';
import type { Observe } from './app-requests.ts';
import { layerOf, type LayerDependencies } from './layers.ts';
import { canonicalName } from './headers.ts';
import { ingressRouteSpec, type IngressRoute, type Match, type Middleware } from './objects.ts';
import { createRouteTable, type Rule } from './route-table.ts';
import { proxyHandler } from './upstream.ts';

export interface RoutesOptions extends LayerDependencies {
  routes: Informer<IngressRoute>;
  middlewares: Informer<Middleware>;
  /** The names of the ingress's port as an entry point. */
  entryPoints: readonly string[];
  /** Default: nothing is observed. */
  observe?: Observe | undefined;
}

export interface Routes {
  start(): void;
  stop(): void;
  /** The handler for a host's requests; answers 404 when no rule matches. */
  find(host: string): Handler;
}

const always = () => true;
const refuse: Handler = () => Promise.resolve(notFoundAnswer());
/** Quoted texts of a rule: in an unsupported rule, each of them may be a host. */
const quoted = /[`"]([^`"]*)[`"]/g;

/**
 * Builds the routes of the IngressRoutes. If a part of a route is missing or unsupported, above all a middleware, all
 * hosts that it names answer 404: they are never served without their protection.
 *
 * A change builds only the routes that it concerns, at the next request: with all of them, each deployment would stop the
 * requests of all apps for a time that grows with their number.
 */
export function createRoutes(options: RoutesOptions): Routes {
  const { routes, middlewares, entryPoints, upstream, observe = (_, handler) => handler, log } = options;
  let table = createRouteTable();
  /** Routes to build before the next request, by key. */
  const changed = new Map<string, Stored<IngressRoute>>();
  /** The names of the Middlewares that each route was built with, missing ones included. */
  const uses = new Map<string, Set<string>>();
  /** Errors of routes, each logged once. */
  const faults = new Map<string, string>();
  let unsubscribe: (() => void)[] = [];

  const findLayer = (namespace: string, name: string): Layer => {
    const middleware = middlewares.get(name, namespace);
    if (!middleware) throw new Error(`the Middleware ${name} does not exist`);
    return layerOf(middleware, options);
  };

  /** @returns no rules for a route of another entry point */
  const rulesOf = (route: Stored<IngressRoute>, used: Set<string>): Rule[] => {
    const { namespace = '' } = route.metadata;
    const { entryPoints: routeEntryPoints, routes: rules } = ingressRouteSpec.parse(route.spec);
    if (routeEntryPoints.length > 0 && !routeEntryPoints.some((name) => entryPoints.includes(name))) return [];
    return rules.map(({ match, priority, services, middlewares: names }) => {
      const last = observe(route, proxyHandler(upstream(namespace, services[0])));
      const handler = names
        .map(({ name }) => {
          used.add(name);
          return findLayer(namespace, name);
        })
        .reduceRight((next, layer) => layer(next), last);
      const hosts = match.hosts.map(canonicalHost);
      return { hosts, weight: priority ?? match.length, accepts: acceptanceOf(match), handler };
    });
  };

  const build = (key: string, route: Stored<IngressRoute>) => {
    const used = new Set<string>();
    const rules = attempt(() => rulesOf(route, used));
    uses.set(key, used);
    if (!(rules instanceof Error)) {
      table.set(key, rules);
      faults.delete(key);
      return;
    }
    const hosts = namesIn(route).map(canonicalHost);
    table.set(key, [{ hosts, weight: Infinity, accepts: always, handler: refuse }]);
    if (faults.get(key) !== rules.message) log.error({ route: key, fault: rules.message }, 'route refused');
    faults.set(key, rules.message);
  };

  const forget = (key: string) => {
    table.delete(key);
    for (const records of [changed, uses, faults]) records.delete(key);
  };

  return {
    start() {
      table = createRouteTable();
      for (const route of routes.list()) changed.set(keyOf(route), route);
      unsubscribe = [
        routes.onChange(({ type, object }) => {
          if (type === 'deleted') forget(keyOf(object));
          else changed.set(keyOf(object), object);
        }),
        middlewares.onChange(({ object: { metadata } }) => {
          for (const route of routes.listIn(metadata.namespace ?? '')) {
            if (uses.get(keyOf(route))?.has(metadata.name)) changed.set(keyOf(route), route);
          }
        }),
      ];
    },
    stop() {
      for (const end of unsubscribe) end();
    },
    find(host) {
      for (const [key, route] of changed) build(key, route);
      changed.clear();
      const rules = table.find(host);
      const [first] = rules;
      if (!first || first.accepts === always) return first?.handler ?? refuse;
      return async (request) => (rules.find(({ accepts }) => accepts(request))?.handler ?? refuse)(request);
    },
  };
}

function keyOf({ metadata: { name, namespace } }: Stored<IngressRoute>): string {
  return `${namespace}/${name}`;
}

function acceptanceOf({ header, path }: Match): Rule['accepts'] {
  if (path !== undefined) return ({ uri }) => uri.split('?', 1)[0] === path;
  if (!header) return always;
  const name = canonicalName(header.name);
  return ({ headers }) => headers.get(name)?.some((value) => header.pattern.test(value)) ?? false;
}

/** Every name that may be a host in an IngressRoute with rules that are not supported. */
function namesIn({ spec }: Stored<IngressRoute>): string[] {
  const { routes } = (spec ?? {}) as { routes?: unknown };
  const rules = (Array.isArray(routes) ? routes : []) as ({ match?: unknown } | null)[];
  return rules.flatMap((rule) => [...String(rule?.match).matchAll(quoted)].map(([, name = '']) => name));
}

/** A host in the form that rules compare: lower case, without port and final dot. Pure. */
export function canonicalHost(host: string): string {
  return host
    .replace(/^([^:]*):[^:]*$/, '$1')
    .toLowerCase()
    .replace(/\.$/, '');
}

/** Returns a thrown error as a value. */
function attempt<T>(create: () => T): T | Error {
  try {
    return create();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
