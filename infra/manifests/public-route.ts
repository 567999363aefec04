import type { KubeObject, ObjectMeta } from '../../runtime/contracts/kubernetes.ts';
import type { SecuritySettings } from '../../runtime/contracts/resources/public-route.ts';
import { contentSecurityPolicy } from '../../runtime/domain/content-policy.ts';
import {
  traefikVersion,
  type IngressRouteSpec,
  type MiddlewareSpec,
  type RouteService,
  type ServersTransportSpec,
} from './traefik.ts';

/** One public route: the same middlewares, and so the same protection, on every host. */
export interface PublicRouteInput {
  metadata: ObjectMeta;
  /** The public hosts, at least one; each is claimed by the workload. */
  hosts: readonly string[];
  /** Traefik's entry points that serve public routes. */
  entryPoints: readonly string[];
  /** The Service that gets the requests. */
  service: RouteService;
  /** Names of Middlewares in the route's namespace, in the order in which requests pass them. */
  middlewares?: readonly string[];
  /** Requests that match a further term of Traefik's rules pass these Middlewares instead. */
  special?: { term: string; middlewares: readonly string[] };
}

/**
 * The priority of public routes; that of special requests is one higher. Below the default, which is the length of the rule and at least 9 with a host, so that
 * no user's route takes requests from another route of the cluster; above 1, which catch-all routes usually have.
 * https://doc.traefik.io/traefik/v3.6/reference/routing-configuration/http/routing/rules-and-priority/
 */
const publicPriority = 2;

/** The IngressRoute with one rule for all hosts, and one more for special requests. Pure. */
export function publicRoute(input: PublicRouteInput): KubeObject {
  const { metadata, hosts, entryPoints, service, middlewares = [], special } = input;
  const match = hosts.map((host) => `Host(\`${host}\`)`).join(' || ');
  const rule = (fields: { match: string; priority: number }, names: readonly string[]) => ({
    kind: 'Rule' as const,
    ...fields,
    services: [service],
    ...(names.length > 0 && { middlewares: names.map((name) => ({ name })) }),
  });
  return {
    apiVersion: traefikVersion,
    kind: 'IngressRoute',
    metadata,
    spec: {
      entryPoints: [...entryPoints],
      routes: [
        rule({ match, priority: publicPriority }, middlewares),
        ...(special
          ? [rule({ match: `(${match}) && ${special.term}`, priority: publicPriority + 1 }, special.middlewares)]
          : []),
      ],
    } satisfies IngressRouteSpec,
  };
}

/** Headers that suit every site: no type sniffing, no framing by other sites, no access to camera and the like. */
const siteHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
  'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
};
/** One year, without subdomains, which may belong to someone else. */
const strictTransport = { 'Strict-Transport-Security': 'max-age=31536000' };

/**
 * The response headers of these settings; empty when none are set. Browsers ignore Strict-Transport-Security over plain
 * HTTP, so it is sent with `https` only. Pure. @throws Problem `invalid_value` for an invalid CSP source
 */
export function securityHeaders(
  { headers = false, csp }: SecuritySettings,
  scheme: 'http' | 'https',
): Record<string, string> {
  return {
    ...(headers && siteHeaders),
    ...(headers && scheme === 'https' && strictTransport),
    ...(csp !== undefined && { 'Content-Security-Policy': contentSecurityPolicy(csp) }),
  };
}

/**
 * The Middleware that sets these headers on every response of a route. It overwrites headers of the workload: Traefik
 * cannot set a header only where it is missing. Pure.
 */
export function responseHeaders(metadata: ObjectMeta, headers: Readonly<Record<string, string>>): KubeObject {
  return middleware(metadata, { headers: { customResponseHeaders: { ...headers } } });
}

/** A Middleware of Traefik with this spec. Pure. */
export function middleware(metadata: ObjectMeta, spec: MiddlewareSpec): KubeObject {
  return { apiVersion: traefikVersion, kind: 'Middleware', metadata, spec };
}

/** A ServersTransport of Traefik with this spec. Pure. */
export function serversTransport(metadata: ObjectMeta, spec: ServersTransportSpec): KubeObject {
  return { apiVersion: traefikVersion, kind: 'ServersTransport', metadata, spec };
}
