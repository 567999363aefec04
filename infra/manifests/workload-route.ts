import type { KubeObject, ObjectMeta } from '../../runtime/contracts/kubernetes.ts';
import { authorizePath, checkerHost } from '../../runtime/contracts/gate-denials.ts';
import type { SecuritySettings } from '../../runtime/contracts/resources/public-route.ts';
import { apiKeySearch } from '../../runtime/domain/api-key.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { spellingsOf, spellingsPattern } from './header-spellings.ts';
import { middleware, publicRoute, responseHeaders, securityHeaders } from './public-route.ts';
import type { RouteService } from './traefik.ts';

const keyHeader = 'X-API-Key';
/**
 * Requests with a key of the platform in their key header. An app without a gate may check keys of its own there, so the
 * header is removed by its value and not by its name (decision 0044).
 */
const withKey = `HeaderRegexp(\`${keyHeader}\`, \`${apiKeySearch}\`)`;
const consumerHeaders = ['X-Svc-Key-Prefix', 'X-Svc-Key-Name'];
/** The remaining quota, for the app (IETF draft-ietf-httpapi-ratelimit-headers). */
const limitHeaders = ['RateLimit', 'RateLimit-Policy'];
/** Headers that only the checker may set. It never sets the key, so that no app sees key material. */
const checkedHeaders = [...consumerHeaders, ...limitHeaders, keyHeader];
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
  /** The route's metadata. Its Middlewares have the same, with a suffix to the name. */
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
  /** Whether another pod is tried when a connection to one cannot be made. */
  retried: boolean;
}

function metadataNamed({ metadata }: WorkloadRoute, name: string): ObjectMeta {
  return { ...metadata, name };
}

/**
 * The public route. Its Middlewares run in this order: the security headers come first, so that the gate's denials carry
 * them too. Headers that clients may not send are removed before the checker adds them. The retry is last, so that the
 * checker counts a request once. Pure.
 */
export function ingressRoute(route: WorkloadRoute): KubeObject {
  const { metadata, hosts, entryPoints, service, gated, retried } = route;
  const { security, gate, strip, stripKey, retry } = middlewareNames(metadata.name);
  const hasSecurity = routeSecurity(route) !== undefined;
  const through = (names: readonly string[]) => [
    ...(hasSecurity ? [security] : []),
    ...names,
    ...(retried ? [retry] : []),
  ];
  const fields = { metadata, hosts, entryPoints, service };
  if (gated) return publicRoute({ ...fields, middlewares: through(gate) });
  return publicRoute({
    ...fields,
    middlewares: through([strip]),
    special: { term: withKey, middlewares: through([strip, stripKey]) },
  });
}

/** The Middleware that adds the security headers to every response, or undefined when there are none. Pure. */
export function routeSecurity(route: WorkloadRoute): KubeObject | undefined {
  const headers = securityHeaders(route.security ?? {}, route.scheme);
  if (Object.keys(headers).length === 0) return undefined;
  return responseHeaders(metadataNamed(route, middlewareNames(route.metadata.name).security), headers);
}

/**
 * The Middleware that tries another pod when a connection to one cannot be made, and in no other case: nothing is sent
 * twice. A pod may stop before the ingress learns of it, for example when the API server fails during a rollout. Pure.
 * https://doc.traefik.io/traefik/v3.6/reference/routing-configuration/http/middlewares/retry/
 */
export function routeRetry(route: WorkloadRoute): KubeObject | undefined {
  if (!route.retried) return undefined;
  return middleware(metadataNamed(route, middlewareNames(route.metadata.name).retry), { retry: { attempts } });
}

/** The names of all Middlewares that a route can have, depending on its settings. */
export interface MiddlewareNames {
  retry: string;
  security: string;
  gate: readonly [string, string];
  strip: string;
  stripKey: string;
}

export function middlewareNames(route: string): MiddlewareNames {
  return {
    retry: `${route}-retry`,
    security: `${route}-security`,
    gate: [`${route}-gate-strip`, `${route}-gate`],
    strip: `${route}-strip`,
    stripKey: `${route}-strip-key`,
  };
}

/** A Middleware that removes request headers. */
function removal(metadata: ObjectMeta, headers: readonly string[]): KubeObject {
  // An empty value removes the header.
  return middleware(metadata, {
    headers: { customRequestHeaders: Object.fromEntries(headers.map((header) => [header, ''])) },
  });
}

/**
 * The Middlewares of a route without a gate. The first removes the headers that only the checker sets, which the workload
 * may believe, and is for all requests; Traefik removes headers by name, not by pattern, and so only the spellings that
 * servers confuse. The second is for requests with a key of the platform, which may open another workload. None for a
 * route with a gate, whose checker replaces these headers. Pure.
 */
export function stripMiddlewares(route: WorkloadRoute): KubeObject[] {
  if (route.gated) return [];
  const { strip, stripKey } = middlewareNames(route.metadata.name);
  return [
    removal(metadataNamed(route, strip), spellingsOf(consumerHeaders)),
    removal(metadataNamed(route, stripKey), [keyHeader]),
  ];
}

/**
 * The gate of the route: the first Middleware removes the headers that only the checker and Traefik may set, the second
 * calls the checker. They are in the route's namespace and call the checker by its URL, so that Traefik needs no
 * cross-namespace references. Pure.
 */
export function gateMiddlewares(route: WorkloadRoute): KubeObject[] {
  const [strip, gate] = middlewareNames(route.metadata.name).gate;
  const removed = [...consumerHeaders, ...limitHeaders, ...forwardedHeaders, tunnelHeader];
  return [
    removal(metadataNamed(route, strip), removed),
    middleware(metadataNamed(route, gate), {
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
    }),
  ];
}
