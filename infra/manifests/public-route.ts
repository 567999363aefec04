import type { KubeObject, ObjectMeta } from '../../runtime/contracts/kubernetes.ts';
import type { SecuritySettings } from '../../runtime/contracts/resources/public-route.ts';
import { contentSecurityPolicy } from '../../runtime/domain/content-policy.ts';

const traefikVersion = 'traefik.io/v1alpha1';

/** One public route: the same middlewares, and so the same protection, on every host. */
export interface PublicRouteInput {
  metadata: ObjectMeta;
  /** At least one, each claimed for the workload. */
  hosts: readonly string[];
  /** Traefik's entry points that serve public routes. */
  entryPoints: readonly string[];
  /** Where requests go, as Traefik names it. */
  service: Readonly<Record<string, unknown>>;
  /** Names of Middlewares beside the route, in the order in which requests pass them. */
  middlewares?: readonly string[];
}

/** The IngressRoute with one rule for all hosts. Pure. */
export function publicRoute({ metadata, hosts, entryPoints, service, middlewares = [] }: PublicRouteInput): KubeObject {
  return {
    apiVersion: traefikVersion,
    kind: 'IngressRoute',
    metadata,
    spec: {
      entryPoints: [...entryPoints],
      routes: [
        {
          kind: 'Rule',
          match: hosts.map((host) => `Host(\`${host}\`)`).join(' || '),
          services: [service],
          ...(middlewares.length > 0 && { middlewares: middlewares.map((name) => ({ name })) }),
        },
      ],
    },
  };
}

/** What any site should send: no guessing of types, no frames on other sites, and no more rights than pages ask for. */
const siteHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
  'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
};
/** A year, and for this very host: what lies below it may belong to others. */
const strictTransport = { 'Strict-Transport-Security': 'max-age=31536000' };

/**
 * The response headers of these settings (spec.md §2.5); empty when none are wanted. Over plain HTTP browsers ignore
 * Strict-Transport-Security, so it is for `https` only. Pure. @throws Problem `invalid_value` for a bad CSP source
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
 * The Middleware that puts these headers on every answer of a route, in place of those that the workload sent: Traefik
 * knows no "unless it is there". Pure.
 */
export function responseHeaders(metadata: ObjectMeta, headers: Readonly<Record<string, string>>): KubeObject {
  return middleware(metadata, { headers: { customResponseHeaders: { ...headers } } });
}

/** A Middleware of Traefik, which does the one thing that its spec names. Pure. */
export function middleware(metadata: ObjectMeta, spec: Readonly<Record<string, object>>): KubeObject {
  return { apiVersion: traefikVersion, kind: 'Middleware', metadata, spec };
}
