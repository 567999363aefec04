import type { KubeObject, ObjectMeta } from '../../runtime/contracts/kubernetes.ts';
import { authorizePath, checkerHost } from '../../runtime/contracts/gate-denials.ts';
import type { SecuritySettings } from '../../runtime/contracts/resources/public-route.ts';
import { apiKeySearch } from '../../runtime/domain/api-key.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { managedLabels } from '../../runtime/domain/labels.ts';
import { spellingsOf, spellingsPattern } from './header-spellings.ts';
import { middleware, publicRoute, responseHeaders, securityHeaders, serversTransport } from './public-route.ts';
import type { MiddlewareSpec, RouteService, ServersTransportSpec } from './traefik.ts';

const keyHeader = 'X-API-Key';
/**
 * Requests with a key of the platform in their key header. An app without a gate may check keys of its own there, so the
 * header is removed by its value and not by its name (decision 0044).
 */
const withKey = `HeaderRegexp(\`${keyHeader}\`, \`${apiKeySearch}\`)`;
const consumerHeaders = ['X-Svc-Key-Prefix', 'X-Svc-Key-Name'];
/** The remaining quota, for the app (IETF draft-ietf-httpapi-ratelimit-headers). */
const limitHeaders = ['RateLimit', 'RateLimit-Policy'];
const reservedHeaders = [...consumerHeaders, ...limitHeaders];
/** Headers that only the checker may set. It never sets the key, so that no app sees key material. */
const checkedHeaders = [...reservedHeaders, keyHeader];
/**
 * Traefik sends the checker the method and the path in these headers. Behind a trusted proxy it would keep the client's own
 * values, and a client could pretend to send a preflight.
 */
const forwardedHeaders = ['X-Forwarded-Method', 'X-Forwarded-Uri'];
/** Lets a request upgrade to HTTP/2 without TLS, which would carry requests past the checker. */
const tunnelHeader = 'HTTP2-Settings';

/** How many pods are tried when no connection can be made. After an interrupted rollout, one of three is a new pod. */
const attempts = 3;

/** The public route of an app or a function. */
export interface WorkloadRoute {
  /** The workload's id, which the checker gets. */
  id: Id;
  /** The route's metadata. Its own Middlewares have the same, with other names. */
  metadata: ObjectMeta;
  /** The public hosts, claimed by this workload. The first one is in its URL. */
  hosts: readonly string[];
  /** Traefik's entry points that serve public routes. */
  entryPoints: readonly string[];
  /** The scheme of public URLs. */
  scheme: 'http' | 'https';
  /** Whether the route requires an API key. */
  gated: boolean;
  security?: SecuritySettings | undefined;
  /** The Service that gets the requests. */
  service: RouteService;
}

/**
 * The public route. Its Middlewares run in this order: the security headers come first, so that the gate's denials carry
 * them too. Headers that clients may not send are removed before the checker adds them. The retry is last, so that the
 * checker counts a request once.
 *
 * Without a gate, the headers that only the checker sets, which the workload may believe, are removed from all requests,
 * and the key from requests with a key of the platform, which may open another workload. The checker of a gate replaces
 * these headers. Pure.
 */
export function ingressRoute(route: WorkloadRoute): KubeObject {
  const { metadata, hosts, entryPoints, service, gated } = route;
  const { security, gate } = ownNames(route);
  const hasSecurity = routeSecurity(route) !== undefined;
  const through = (names: readonly string[]) => [...(hasSecurity ? [security] : []), ...names, sharedNames.retry];
  const fields = { metadata, hosts, entryPoints, service: { ...service, serversTransport: sharedNames.transport } };
  if (gated) return publicRoute({ ...fields, middlewares: through([sharedNames.gateStrip, gate]) });
  return publicRoute({
    ...fields,
    middlewares: through([sharedNames.strip]),
    special: { term: withKey, middlewares: through([sharedNames.strip, sharedNames.stripKey]) },
  });
}

/** An empty value removes the header. */
const removal = (headers: readonly string[]): MiddlewareSpec => ({
  headers: { customRequestHeaders: Object.fromEntries(headers.map((header) => [header, ''])) },
});

/**
 * The names of the objects that all routes of a namespace share. Traefik joins namespace and name with a hyphen, so that
 * of two namespaces `shop` and `shop-prod` the Middlewares `prod-x` and `x` would be one: no platform's name ends like
 * another (decision 0097).
 */
const sharedNames = {
  retry: 'svc-retry',
  strip: 'svc-strip',
  stripKey: 'svc-strip-key',
  gateStrip: 'svc-gate-strip',
  transport: 'svc-pods',
} as const;

/**
 * Many servers close a connection that was idle for five seconds, some after two (Gunicorn), and Traefik by default after
 * 90: a request without a repetition that arrives while the server closes would fail.
 */
const transport: ServersTransportSpec = {
  // Traefik's own default.
  maxIdleConnsPerHost: 200,
  // Traefik waits 30 s by default, for a pod that is gone, before it tries the next one.
  forwardingTimeouts: { dialTimeout: '3s', idleConnTimeout: '1500ms' },
};

const sharedSpecs: Readonly<Record<string, MiddlewareSpec>> = {
  // Tries another pod (of functions: of the interceptors) when a connection to one cannot be made, and in no other case:
  // nothing is sent twice. A pod may stop before the ingress learns of it, for example when its node is lost, or when the
  // API server fails during a rollout.
  // https://doc.traefik.io/traefik/v3.6/reference/routing-configuration/http/middlewares/retry/
  [sharedNames.retry]: { retry: { attempts } },
  // Traefik removes headers by name, not by pattern, and so only the spellings that servers confuse.
  [sharedNames.strip]: removal(spellingsOf(consumerHeaders)),
  [sharedNames.stripKey]: removal([keyHeader]),
  [sharedNames.gateStrip]: removal([...reservedHeaders, ...forwardedHeaders, tunnelHeader]),
};

/** Whether an object of Traefik with this name is shared by all routes of its namespace. */
export function isShared(name: string): boolean {
  return (Object.values(sharedNames) as string[]).includes(name);
}

/**
 * What this route uses and all routes of its namespace share: Middlewares, and how to connect to pods. These objects have
 * no owner and are deleted with their namespace. Pure.
 */
export function sharedObjects({ metadata: { namespace }, gated }: WorkloadRoute): KubeObject[] {
  const { retry, gateStrip, strip, stripKey, transport: transportName } = sharedNames;
  const place = { ...(namespace !== undefined && { namespace }), labels: managedLabels() };
  const names = [retry, ...(gated ? [gateStrip] : [strip, stripKey])];
  const middlewares = names.map((name) => middleware({ name, ...place }, sharedSpecs[name] ?? {}));
  return [...middlewares, serversTransport({ name: transportName, ...place }, transport)];
}

/** The names of the Middlewares that only this route uses: with its id, so that they are unique in the cluster. */
function ownNames({ id }: WorkloadRoute): { security: string; gate: string } {
  return { security: `security-${id}`, gate: `gate-${id}` };
}

/** The Middleware that adds the security headers to every response, or undefined when there are none. Pure. */
export function routeSecurity(route: WorkloadRoute): KubeObject | undefined {
  const headers = securityHeaders(route.security ?? {}, route.scheme);
  if (Object.keys(headers).length === 0) return undefined;
  return responseHeaders({ ...route.metadata, name: ownNames(route).security }, headers);
}

/**
 * The Middleware that calls the checker for this route. It is in the route's namespace and calls the checker by its URL,
 * so that Traefik needs no cross-namespace references. Undefined without a gate. Pure.
 */
export function routeGate(route: WorkloadRoute): KubeObject | undefined {
  if (!route.gated) return undefined;
  return middleware(
    { ...route.metadata, name: ownNames(route).gate },
    {
      forwardAuth: {
        address: `http://${checkerHost}${authorizePath}?app=${route.id}`,
        // Keeps all of X-Forwarded-For, not only the last hop: keys may be limited to addresses. The entry point has
        // removed the values of untrusted clients.
        trustForwardHeader: true,
        // The checker needs no cookies and no other headers of the client.
        authRequestHeaders: [keyHeader, 'Origin', 'Access-Control-Request-Method'],
        authResponseHeaders: checkedHeaders,
        // Removes every spelling from the request before the checker's values are added.
        authResponseHeadersRegex: spellingsPattern(checkedHeaders),
      },
    },
  );
}
