import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Informer } from '../../../runtime/kube/informer.ts';
import { notFoundAnswer, type Handler, type Layer, type RouteRequest } from './exchange.ts';
import type { Observe } from './app-requests.ts';
import { layerOf, type LayerDependencies } from './layers.ts';
import { canonicalName } from './headers.ts';
import { ingressRouteSpec, type IngressRoute, type Match, type Middleware } from './objects.ts';
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

/** One rule of an IngressRoute, for one of its hosts. */
interface Candidate {
  /** Its priority, by default the length of the rule. */
  weight: number;
  accepts: (request: RouteRequest) => boolean;
  handler: Handler;
}

const always = () => true;
const refuse: Handler = () => Promise.resolve(notFoundAnswer());
/** Quoted texts of a rule: in an unsupported rule, each of them may be a host. */
const quoted = /[`"]([^`"]*)[`"]/g;

/**
 * Builds the routes of the IngressRoutes. If a part of a route is missing or unsupported, above all a middleware, all
 * hosts that it names answer 404: they are never served without their protection.
 */
export function createRoutes(options: RoutesOptions): Routes {
  const { routes, middlewares, entryPoints, upstream, observe = (_, handler) => handler, log } = options;
  /** By host, the rule that counts first at the front; undefined after a change. */
  let table: Map<string, Candidate[]> | undefined;
  /** Errors of routes, each logged once. */
  let faults = new Map<string, string>();
  let unsubscribe: (() => void)[] = [];

  const findLayer = (namespace: string, name: string): Layer => {
    const middleware = middlewares.get(name, namespace);
    if (!middleware) throw new Error(`the Middleware ${name} does not exist`);
    return layerOf(middleware, options);
  };

  /** The rules, with the hosts of each; none for a route of another entry point. */
  const rulesOf = (route: Stored<IngressRoute>): { match: Match; candidate: Candidate }[] => {
    const { namespace = '' } = route.metadata;
    const { entryPoints: routeEntryPoints, routes: rules } = ingressRouteSpec.parse(route.spec);
    if (routeEntryPoints.length > 0 && !routeEntryPoints.some((name) => entryPoints.includes(name))) return [];
    return rules.map(({ match, priority, services, middlewares: names }) => {
      const last = observe(route, proxyHandler(upstream(namespace, services[0])));
      const handler = names
        .map(({ name }) => findLayer(namespace, name))
        .reduceRight((next, layer) => layer(next), last);
      return { match, candidate: { weight: priority ?? match.length, accepts: acceptanceOf(match), handler } };
    });
  };

  const build = () => {
    const built = new Map<string, Candidate[]>();
    const previousFaults = faults;
    faults = new Map();
    const add = (host: string, candidate: Candidate) => {
      const name = canonicalHost(host);
      const others = built.get(name) ?? [];
      built.set(
        name,
        [...others, candidate].toSorted((one, other) => other.weight - one.weight),
      );
    };
    for (const object of routes.list()) {
      const rules = attempt(() => rulesOf(object));
      if (!(rules instanceof Error)) {
        for (const { match, candidate } of rules) for (const host of match.hosts) add(host, candidate);
        continue;
      }
      for (const host of namesIn(object)) add(host, { weight: Infinity, accepts: always, handler: refuse });
      const name = `${object.metadata.namespace}/${object.metadata.name}`;
      faults.set(name, rules.message);
      if (previousFaults.get(name) !== rules.message) {
        log.error({ route: name, fault: rules.message }, 'route refused');
      }
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
      const candidates = table.get(host) ?? [];
      const [first] = candidates;
      if (!first || first.accepts === always) return first?.handler ?? refuse;
      return async (request) => (candidates.find(({ accepts }) => accepts(request))?.handler ?? refuse)(request);
    },
  };
}

function acceptanceOf({ header }: Match): Candidate['accepts'] {
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
