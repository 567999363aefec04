import type { V1NetworkPolicy, V1PodDisruptionBudget, V1Service, V1ServiceSpec } from '@kubernetes/client-node';
import { eventsPort } from '../../../runtime/contracts/event-exchange.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { signInBodyLimit, signInPath } from '../../../runtime/contracts/api/sessions.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel } from '../../../runtime/domain/labels.ts';
import type { IngressRouteSpec, MiddlewareSpec } from '../traefik.ts';
import { componentLabels, systemObject, type Manifest } from './object.ts';
import type { PlatformProcess } from './processes.ts';
import { consoleHost, type PlatformSettings } from './settings.ts';

/** The Service of a server: port 80 leads to port 8080. Pure. */
export function processService({ name, replicas, nearest = false }: PlatformProcess): Manifest {
  const labels = componentLabels(name);
  return systemObject<V1Service>(
    kinds.Service,
    name,
    {
      spec: {
        selector: labels,
        ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }],
        ...(nearest && replicas > 1 && { trafficDistribution: 'PreferSameNode' }),
      },
    },
    labels,
  );
}

/**
 * The Service without the preference for pods on the client's node, for Kubernetes before 1.34, which refuses it; undefined
 * for an object without it. Pure.
 */
export function withoutPreference<T extends KubeObject>(object: T): T | undefined {
  const { trafficDistribution, ...spec } = (object['spec'] ?? {}) as V1ServiceSpec;
  return object.kind === 'Service' && trafficDistribution !== undefined ? { ...object, spec } : undefined;
}

/** The Service that sidecars and object stores use to exchange events with the platform. No public route leads to it. */
export const eventsService = 'svc-events';

/**
 * Leads port 80 and the port of console-api's own number to console-api's port for events. The second is for object stores
 * in the embedded cluster: only Node programs can use port 80 there. Pure.
 */
export function eventsServiceManifest(): Manifest {
  const ports = [
    { name: 'http', port: 80, targetPort: 'events', protocol: 'TCP' },
    { name: 'stores', port: eventsPort, targetPort: 'events', protocol: 'TCP' },
  ];
  return systemObject<V1Service>(kinds.Service, eventsService, {
    spec: { selector: componentLabels('console-api'), ports },
  });
}

/** Keeps one of a process's two replicas running while nodes are drained. Pure. */
export function disruptionBudget({ name }: PlatformProcess): Manifest {
  const labels = componentLabels(name);
  return systemObject<V1PodDisruptionBudget>(
    kinds.PodDisruptionBudget,
    name,
    { spec: { minAvailable: 1, selector: { matchLabels: labels } } },
    labels,
  );
}

/**
 * Lets only the platform's own pods connect to PostgreSQL and Redis, even where pods of environments may connect to the
 * private network that these are in. Pure.
 */
export function storesPolicy(): Manifest {
  return systemObject<V1NetworkPolicy>(kinds.NetworkPolicy, 'svc-stores', {
    spec: {
      podSelector: { matchExpressions: [{ key: appLabel, operator: 'In', values: ['svc-postgres', 'svc-redis'] }] },
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ podSelector: {} }] }],
    },
  });
}

const consoleRetryName = 'console-api-retry';

/** Tries the other replica when a connection to one cannot be made, for example because its node is lost. Pure. */
export function consoleRetry(): Manifest {
  const spec: MiddlewareSpec = { retry: { attempts: 2 } };
  return systemObject<{ spec: MiddlewareSpec }>(
    kinds.Middleware,
    consoleRetryName,
    { spec },
    componentLabels('console-api'),
  );
}

const signInBodyName = 'console-api-sign-in-body';

/**
 * Refuses a body that is too large for a sign-in, and waits for the end of others, in the ingress: everyone may send one, and
 * hundreds of large or unfinished ones would cost the API. Pure.
 */
export function signInBody(): Manifest {
  const spec: MiddlewareSpec = { buffering: { maxRequestBodyBytes: signInBodyLimit } };
  return systemObject<{ spec: MiddlewareSpec }>(
    kinds.Middleware,
    signInBodyName,
    { spec },
    componentLabels('console-api'),
  );
}

/**
 * The public route of the management API. The entry point decides about TLS (in k3s, `websecure` enables it), so that an
 * ingress behind a proxy that terminates TLS works too. Pure.
 */
export function consoleRoute(settings: PlatformSettings): Manifest {
  const labels = componentLabels('console-api');
  const host = `Host(\`${consoleHost(settings)}\`)`;
  const rule = (match: string, middlewares: string[]) => ({
    kind: 'Rule' as const,
    match,
    services: [{ name: 'console-api', port: 80 }],
    middlewares: middlewares.map((name) => ({ name })),
  });
  return systemObject<{ spec: IngressRouteSpec }>(
    kinds.IngressRoute,
    'console-api',
    {
      spec: {
        entryPoints: settings.entryPoints,
        routes: [
          rule(host, [consoleRetryName]),
          // Longer than the other, so that it goes first.
          rule(`(${host}) && Path(\`${signInPath}\`)`, [signInBodyName, consoleRetryName]),
        ],
      },
    },
    labels,
  );
}
