import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Informer } from '../../../runtime/kube/informer.ts';
import { notFound, type Handler, type Layer } from './exchange.ts';
import { layerOf, type LayerDependencies } from './layers.ts';
import { ingressRouteSpec, type IngressRoute, type Middleware } from './objects.ts';
import { proxied } from './upstream.ts';

export interface RoutesOptions extends LayerDependencies {
  routes: Informer<IngressRoute>;
  middlewares: Informer<Middleware>;
  /** The names under which the ingress's port is an entry point. */
  entryPoints: readonly string[];
}

export interface Routes {
  start(): void;
  stop(): void;
  /** Where the requests for a host belong; one that no rule wants gets a 404. */
  find(host: string): Handler;
}

const refuse: Handler = () => Promise.resolve(notFound());
/** Whatever a rule quotes, since a rule that is not understood may name its hosts in any way. */
const quoted = /[`"]([^`"]*)[`"]/g;

/**
 * The routes that the IngressRoutes ask for. Whatever of a route is missing or not supported, a middleware above all,
 * makes it a 404 for every host that it names: they are never served without what was to protect them.
 */
export function createRoutes(options: RoutesOptions): Routes {
  const { routes, middlewares, entryPoints, upstream, log } = options;
  /** By host; undefined when it has to be made anew. */
  let table: Map<string, { weight: number; handler: Handler }> | undefined;
  /** What is wrong with routes, which is logged once. */
  let faults = new Map<string, string>();
  let unsubscribe: (() => void)[] = [];

  const layer = (namespace: string, name: string): Layer => {
    const middleware = middlewares.get(name, namespace);
    if (!middleware) throw new Error(`the Middleware ${name} does not exist`);
    return layerOf(middleware, options);
  };

  /** @returns undefined for a route of another entry point */
  const handlerOf = ({ metadata: { namespace = '' }, spec }: IngressRoute): Handler | undefined => {
    const { entryPoints: wanted, routes: rules } = ingressRouteSpec.parse(spec);
    if (wanted.length > 0 && !wanted.some((each) => entryPoints.includes(each))) return undefined;
    const [{ services, middlewares: names }] = rules;
    const last = proxied(upstream(namespace, services[0]));
    return names.map(({ name }) => layer(namespace, name)).reduceRight((next, each) => each(next), last);
  };

  const build = () => {
    const built: typeof table = new Map();
    const before = faults;
    faults = new Map();
    for (const object of routes.list()) {
      const { hosts, weight } = namedBy(object);
      const found = attempt(() => handlerOf(object));
      if (!found) continue;
      const route = found instanceof Error ? { handler: refuse, weight: Infinity } : { handler: found, weight };
      for (const host of hosts) if (route.weight > (built.get(host)?.weight ?? 0)) built.set(host, route);
      if (!(found instanceof Error)) continue;
      const name = `${object.metadata.namespace}/${object.metadata.name}`;
      faults.set(name, found.message);
      if (before.get(name) !== found.message) log.error({ route: name, fault: found.message }, 'route refused');
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

/** The hosts that an object is about, also one that is not understood; of several rules for a host the longest counts. */
function namedBy({ spec }: Stored<IngressRoute>): { hosts: string[]; weight: number } {
  const { routes } = (spec ?? {}) as { routes?: unknown };
  const rules = (Array.isArray(routes) ? routes : []) as ({ match?: unknown } | null)[];
  const texts = rules.map((rule) => String(rule?.match));
  const names = texts.flatMap((text) => [...text.matchAll(quoted)].map(([, name = '']) => name));
  return { hosts: names.map(canonicalHost), weight: texts.join().length };
}

/** The host as rules compare it: in lower case, without port and final dot. Pure. */
export function canonicalHost(host: string): string {
  return host
    .replace(/^([^:]*):[^:]*$/, '$1')
    .toLowerCase()
    .replace(/\.$/, '');
}

/** What is thrown, as a value. */
function attempt<T>(make: () => T): T | Error {
  try {
    return make();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
