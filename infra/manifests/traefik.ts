/**
 * The fields of Traefik's objects that the platform writes, so that the compiler refuses a misspelt one: the API server
 * drops unknown fields, and a Middleware without its fields protects nothing.
 * https://doc.traefik.io/traefik/v3.6/reference/routing-configuration/kubernetes/crd/http/ingressroute/
 */

export const traefikVersion = 'traefik.io/v1alpha1';

/** The Service that gets the requests of a route. */
export interface RouteService {
  name: string;
  port: number;
  kind?: 'Service';
  passHostHeader?: boolean;
  /** The name of a ServersTransport in the route's namespace; default Traefik's own settings. */
  serversTransport?: string;
}

/** The spec of an IngressRoute. */
export interface IngressRouteSpec {
  entryPoints: string[];
  routes: {
    kind: 'Rule';
    match: string;
    priority?: number;
    services: RouteService[];
    middlewares?: { name: string }[];
  }[];
}

/** The spec of a Middleware, which has exactly one of the fields. */
export interface MiddlewareSpec {
  headers?: { customRequestHeaders?: Record<string, string>; customResponseHeaders?: Record<string, string> };
  forwardAuth?: {
    address: string;
    trustForwardHeader: boolean;
    authRequestHeaders: string[];
    authResponseHeaders: string[];
    authResponseHeadersRegex: string;
  };
  retry?: { attempts: number };
  buffering?: { maxRequestBodyBytes: number };
}

/**
 * The spec of a ServersTransport: how Traefik connects to pods. What is missing has a default that differs from Traefik's
 * own settings, such as two idle connections to each pod.
 * https://doc.traefik.io/traefik/v3.6/reference/routing-configuration/kubernetes/crd/http/serverstransport/
 */
export interface ServersTransportSpec {
  maxIdleConnsPerHost: number;
  forwardingTimeouts: { dialTimeout: string; idleConnTimeout: string };
}
