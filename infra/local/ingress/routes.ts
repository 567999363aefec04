import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Informer } from '../../../runtime/kube/informer.ts';
import { notFound, type Handler, type Layer } from './exchange.ts';
import { layerOf, type LayerDependencies } from './layers.ts';
import type { IngressRoute, Middleware, RouteRule } from './objects.ts';
import { attempt, readRules } from './rules.ts';
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

/** The table that is looked at, by host. */
type Table = Map<string, { weight: number; handler: Handler }>;

const refuse: Handler = () => Promise.resolve(notFound());

/**
 * The routes that the IngressRoutes ask for. Whatever of a route is missing or not supported, a middleware above all,
 * makes it a 404: its hosts are never served without what was to protect them.
 */
export function createRoutes(options: RoutesOptions): Routes {
  const { routes, middlewares, entryPoints, upstream, log } = options;
  const rulesOf = remembered(readRules);
  const layersOf = remembered((middleware: Middleware) => attempt(() => layerOf(middleware, options)));
  /** Undefined when it has to be made anew. */
  let table: Table | undefined;
  let reported = new Map<string, string>();
  let unsubscribe: (() => void)[] = [];

  const layer = (namespace: string, name: string): Layer => {
    const middleware = middlewares.get(name, namespace);
    if (!middleware) throw new Error(`the Middleware ${name} does not exist`);
    const found = layersOf(middleware);
    if (found instanceof Error) throw new Error(`the Middleware ${name} is not supported: ${found.message}`);
    return found;
  };
  const handlerOf = (namespace: string, { services: [service], middlewares: names }: RouteRule): Handler =>
    names
      .map(({ name }) => layer(namespace, name))
      .reduceRight((next, each) => each(next), proxied(upstream(namespace, service)));

  /** Adds the rules of one object. @returns what is wrong with them */
  const add = (to: Table, object: Stored<IngressRoute>): string[] => {
    const { entryPoints: wanted } = (object.spec ?? {}) as { entryPoints?: unknown };
    const elsewhere =
      Array.isArray(wanted) && wanted.length > 0 && !wanted.some((each) => entryPoints.includes(each as string));
    return (elsewhere ? [] : rulesOf(object)).flatMap(({ hosts, weight, spec }) => {
      const { namespace = '' } = object.metadata;
      const made = spec instanceof Error ? spec : attempt(() => handlerOf(namespace, spec));
      const route = made instanceof Error ? { weight: Infinity, handler: refuse } : { weight, handler: made };
      for (const host of hosts) if (!(route.weight <= (to.get(host)?.weight ?? 0))) to.set(host, route);
      return made instanceof Error ? [made.message] : [];
    });
  };
  const build = () => {
    const built: Table = new Map();
    const faults = new Map<string, string>();
    for (const object of routes.list()) {
      const route = `${object.metadata.namespace}/${object.metadata.name}`;
      const fault = add(built, object).join('; ');
      if (fault === '') continue;
      faults.set(route, fault);
      if (reported.get(route) !== fault) log.error({ route, fault }, 'route refused');
    }
    reported = faults;
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

/** The same function, which works once for each object: informers hand out another object after each change. */
function remembered<K extends object, V>(make: (object: K) => V): (object: K) => V {
  const known = new WeakMap<K, V>();
  return (object) => {
    const found = known.get(object) ?? make(object);
    known.set(object, found);
    return found;
  };
}
