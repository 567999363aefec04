import type { KubeObject, ObjectMeta } from '../../runtime/contracts/kubernetes.ts';
import type { SecuritySettings } from '../../runtime/contracts/resources/app.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { systemNamespace, workloadLabels } from '../../runtime/domain/labels.ts';
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

/** What an app's public route is made of. */
export interface AppRouteInput {
  id: Id;
  name: string;
  namespace: string;
  /** The public hosts, claimed for this app; the first is the one that its URL shows. */
  hosts: readonly string[];
  /** Traefik's entry points that serve public routes. */
  entryPoints: readonly string[];
  /** How clients reach the ingress. */
  scheme: 'http' | 'https';
  /** Whether the route demands an API key. */
  gated: boolean;
  security?: SecuritySettings | undefined;
}

function metadata({ id, name, namespace }: AppRouteInput, objectName = name): ObjectMeta {
  return { name: objectName, namespace, labels: workloadLabels({ kind: 'App', name, id }) };
}

/**
 * The public route. Middlewares run in the order given: what clients may not send goes before the checker adds it, and
 * the security headers come first, so that the gate's denials carry them too. The retry is next to the pods, so that the
 * checker counts a request once. Pure.
 */
export function appRoute(input: AppRouteInput): KubeObject {
  const { name, hosts, entryPoints, gated } = input;
  const secured = appSecurity(input) !== undefined;
  const middlewares = [
    ...(secured ? [securityName(name)] : []),
    ...(gated ? [stripName(name), gateName(name)] : []),
    retryName(name),
  ];
  return publicRoute({ metadata: metadata(input), hosts, entryPoints, service: { name, port: 80 }, middlewares });
}

/** What adds the security headers to every answer of the route, or undefined when the app wants none. Pure. */
export function appSecurity(input: AppRouteInput): KubeObject | undefined {
  const headers = securityHeaders(input.security ?? {}, input.scheme);
  return Object.keys(headers).length === 0
    ? undefined
    : responseHeaders(metadata(input, securityName(input.name)), headers);
}

/**
 * Asks another pod when the connection to one cannot be made, and in no other case: nothing is sent twice. A pod may end
 * before the ingress hears of it, as when the API server is away in the middle of a rollout. Pure.
 * https://doc.traefik.io/traefik/v3.6/reference/routing-configuration/http/middlewares/retry/
 */
export function appRetry(input: AppRouteInput): KubeObject {
  return middleware(metadata(input, retryName(input.name)), { retry: { attempts } });
}

/** The names of all Middlewares that an app may have; whether it has the optional ones depends on its settings. */
export function appMiddlewareNames(app: string): { retry: string; security: string; gate: readonly string[] } {
  return { retry: retryName(app), security: securityName(app), gate: [stripName(app), gateName(app)] };
}

/**
 * The gate of the route: first it removes what only the checker and Traefik may say, then it asks the checker. They lie
 * beside the IngressRoute and call the checker by its address, so that Traefik needs no cross-namespace references. Pure.
 */
export function appMiddlewares(input: AppRouteInput): KubeObject[] {
  const { id, name } = input;
  const removed = [...consumerHeaders, ...limitHeaders, ...claimedHeaders, tunnelHeader];
  return [
    middleware(metadata(input, stripName(name)), {
      // An empty value removes the header.
      headers: { customRequestHeaders: Object.fromEntries(removed.map((header) => [header, ''])) },
    }),
    middleware(metadata(input, gateName(name)), {
      forwardAuth: {
        address: `http://svc-authz.${systemNamespace}.svc/authorize?app=${id}`,
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

function securityName(app: string): string {
  return `${app}-security`;
}

function retryName(app: string): string {
  return `${app}-retry`;
}

function stripName(app: string): string {
  return `${app}-gate-strip`;
}

function gateName(app: string): string {
  return `${app}-gate`;
}
