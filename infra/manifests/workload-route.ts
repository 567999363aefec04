import type { KubeObject, ObjectMeta } from '../../runtime/contracts/kubernetes.ts';
import type { SecuritySettings } from '../../runtime/contracts/resources/public-route.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { spellingsPattern } from './header-spellings.ts';
import { middleware, publicRoute, responseHeaders, securityHeaders } from './public-route.ts';

const keyHeader = 'X-API-Key';
const consumerHeaders = ['X-Svc-Key-Prefix', 'X-Svc-Key-Name'];
/** What the plan's limits leave, for the app (IETF draft-ietf-httpapi-ratelimit-headers). */
const limitHeaders = ['RateLimit', 'RateLimit-Policy'];
/** Set by the checker or by nobody; the key itself by nobody, so that no app sees key material. */
const checkedHeaders = [...consumerHeaders, ...limitHeaders, keyHeader];
/**
 * Traefik tells the checker the method and the path in these. Behind a trusted proxy it would believe what the client
 * wrote there, and a client could pass for a preflight.
 */
const claimedHeaders = ['X-Forwarded-Method', 'X-Forwarded-Uri'];
/** An app that speaks HTTP/2 without TLS needs it to turn a request into a tunnel for requests that nobody checks. */
const tunnelHeader = 'HTTP2-Settings';

/** So many pods are asked before a request that no pod took is given up; where a rollout is cut off, one of them is new. */
const attempts = 3;

/** What the public route of an app or a function is made of. */
export interface WorkloadRoute {
  /** The workload, about which the checker is asked. */
  id: Id;
  /** Name, place and marks of the route; those of its Middlewares are the same, but their names go on. */
  metadata: ObjectMeta;
  /** The public hosts, claimed for this workload; the first is the one that its URL shows. */
  hosts: readonly string[];
  /** Traefik's entry points that serve public routes. */
  entryPoints: readonly string[];
  /** How clients reach the ingress. */
  scheme: 'http' | 'https';
  /** Whether the route demands an API key. */
  gated: boolean;
  security?: SecuritySettings | undefined;
  /** Where requests go, as Traefik names it. */
  service: Readonly<Record<string, unknown>>;
  /** Whether the next pod is asked where a connection to one cannot be made. */
  retried: boolean;
}

function named({ metadata }: WorkloadRoute, name: string): ObjectMeta {
  return { ...metadata, name };
}

/**
 * The public route. Middlewares run in the order given: what clients may not send goes before the checker adds it, and
 * the security headers come first, so that the gate's denials carry them too. The retry is next to the pods, so that the
 * checker counts a request once. Pure.
 */
export function ingressRoute(route: WorkloadRoute): KubeObject {
  const { metadata, hosts, entryPoints, service, gated, retried } = route;
  const { security, gate, retry } = middlewareNames(metadata.name);
  const secured = routeSecurity(route) !== undefined;
  const middlewares = [...(secured ? [security] : []), ...(gated ? gate : []), ...(retried ? [retry] : [])];
  return publicRoute({ metadata, hosts, entryPoints, service, middlewares });
}

/** What adds the security headers to every answer of the route, or undefined when none are wanted. Pure. */
export function routeSecurity(route: WorkloadRoute): KubeObject | undefined {
  const headers = securityHeaders(route.security ?? {}, route.scheme);
  if (Object.keys(headers).length === 0) return undefined;
  return responseHeaders(named(route, middlewareNames(route.metadata.name).security), headers);
}

/**
 * Asks another pod when the connection to one cannot be made, and in no other case: nothing is sent twice. A pod may end
 * before the ingress hears of it, as when the API server is away in the middle of a rollout. Pure.
 * https://doc.traefik.io/traefik/v3.6/reference/routing-configuration/http/middlewares/retry/
 */
export function routeRetry(route: WorkloadRoute): KubeObject | undefined {
  if (!route.retried) return undefined;
  return middleware(named(route, middlewareNames(route.metadata.name).retry), { retry: { attempts } });
}

/** The names of all Middlewares that a route may have; whether it has the optional ones depends on its settings. */
export function middlewareNames(route: string): { retry: string; security: string; gate: readonly [string, string] } {
  return { retry: `${route}-retry`, security: `${route}-security`, gate: [`${route}-gate-strip`, `${route}-gate`] };
}

/**
 * The gate of the route: first it removes what only the checker and Traefik may say, then it asks the checker. They lie
 * beside the IngressRoute and call the checker by its address, so that Traefik needs no cross-namespace references. Pure.
 */
export function gateMiddlewares(route: WorkloadRoute): KubeObject[] {
  const [strip, gate] = middlewareNames(route.metadata.name).gate;
  const removed = [...consumerHeaders, ...limitHeaders, ...claimedHeaders, tunnelHeader];
  return [
    middleware(named(route, strip), {
      // An empty value removes the header.
      headers: { customRequestHeaders: Object.fromEntries(removed.map((header) => [header, ''])) },
    }),
    middleware(named(route, gate), {
      forwardAuth: {
        address: `http://svc-authz.${systemNamespace}.svc/authorize?app=${route.id}`,
        // X-Forwarded-For as the entry point vouches for it (it empties what an untrusted client sent), and not only
        // its last hop: keys may be limited to addresses.
        trustForwardHeader: true,
        // The client's cookies and bodies are not the checker's business.
        authRequestHeaders: [keyHeader, 'Origin', 'Access-Control-Request-Method'],
        authResponseHeaders: checkedHeaders,
        // Of the request every spelling is removed, then the checker's own are added.
        authResponseHeadersRegex: spellingsPattern(checkedHeaders),
      },
    }),
  ];
}
