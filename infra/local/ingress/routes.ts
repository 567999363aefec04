import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Informer } from '../../../runtime/kube/informer.ts';
import { notFoundAnswer, type Handler, type Layer } from './exchange.ts';
import { layerOf, type LayerDependencies } from './layers.ts';
import { ingressRouteSpec, type IngressRoute, type Middleware } from './objects.ts';
import { proxyHandler } from './upstream.ts';

export interface RoutesOptions extends LayerDependencies {
  routes: Informer<IngressRoute>;
  middlewares: Informer<Middleware>;
  /** The names of the ingress's port as an entry point. */
  entryPoints: readonly string[];
}

export interface Routes {
  start(): void;
  stop(): void;
  /** The handler for a host's requests; answers 404 when no rule matches. */
  find(host: string): Handler;
}

const refuse: Handler = () => Promise.resolve(notFoundAnswer());
/** Quoted texts of a rule: in an unsupported rule, each of them may be a host. */
const quoted = /[`"]([^`"]*)[`"]/g;

/**
 * Builds the routes of the IngressRoutes. If a part of a route is missing or unsupported, above all a middleware, all
 * hosts that it names answer 404: they are never served without their protection.
 */
export function createRoutes(options: RoutesOptions): Routes {
  const { routes, middlewares, entryPoints, upstream, log } = options;
  /** By host; undefined after a change. */
  let table: Map<string, { weight: number; handler: Handler }> | undefined;
  /** Errors of routes, each logged once. */
  let faults = new Map<string, string>();
  let unsubscribe: (() => void)[] = [];

  const findLayer = (namespace: string, name: string): Layer => {
    const middleware = middlewares.get(name, namespace);
    if (!middleware) throw new Error(`the Middleware ${name} does not exist`);
    return layerOf(middleware, options);
  };

  /** @returns undefined for a route of another entry point */
  const handlerOf = ({ metadata: { namespace = '' }, spec }: IngressRoute): Handler | undefined => {
    const { entryPoints: routeEntryPoints, routes: rules } = ingressRouteSpec.parse(spec);
    if (routeEntryPoints.length > 0 && !routeEntryPoints.some((name) => entryPoints.includes(name))) return undefined;
    const [{ services, middlewares: names }] = rules;
    const last = proxyHandler(upstream(namespace, services[0]));
    return names.map(({ name }) => findLayer(namespace, name)).reduceRight((next, layer) => layer(next), last);
  };

  const build = () => {
    const built: typeof table = new Map();
    const previousFaults = faults;
    faults = new Map();
    for (const object of routes.list()) {
      const { hosts, weight } = hostsOf(object);
      const result = attempt(() => handlerOf(object));
      if (!result) continue;
      const route = result instanceof Error ? { handler: refuse, weight: Infinity } : { handler: result, weight };
      for (const host of hosts) if (route.weight > (built.get(host)?.weight ?? 0)) built.set(host, route);
      if (!(result instanceof Error)) continue;
      const name = `${object.metadata.namespace}/${object.metadata.name}`;
      faults.set(name, result.message);
      if (previousFaults.get(name) !== result.message)
        log.error({ route: name, fault: result.message }, 'route refused');
    }
    return built;
  };

  return {
    start() {
      const changed = () => {
        table = undefined;
      };
      unsubscribe = [routes.onChange(changed), middlewares.onChange(changed)];
    },
    stop() {
      for (const end of unsubscribe) end();
    },
    find(host) {
      table ??= build();
      return table.get(host)?.handler ?? refuse;
    },
  };
}

/**
 * The hosts of an IngressRoute, even of an unsupported one. If several rules match a host, the one with the highest
 * priority counts, by default the longest.
 */
function hostsOf({ spec }: Stored<IngressRoute>): { hosts: string[]; weight: number } {
  const { routes } = (spec ?? {}) as { routes?: unknown };
  const rules = (Array.isArray(routes) ? routes : []) as ({ match?: unknown; priority?: unknown } | null)[];
  const texts = rules.map((rule) => String(rule?.match));
  const names = texts.flatMap((text) => [...text.matchAll(quoted)].map(([, name = '']) => name));
  const priority = Number(rules[0]?.priority ?? 0);
  return { hosts: names.map(canonicalHost), weight: priority > 0 ? priority : texts.join().length };
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
