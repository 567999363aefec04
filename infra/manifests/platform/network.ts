import { eventsPort } from '../../../runtime/contracts/event-exchange.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel } from '../../../runtime/domain/labels.ts';
import { componentLabels, systemObject, type Manifest } from './object.ts';
import type { PlatformProcess } from './processes.ts';
import { consoleHost, type PlatformSettings } from './settings.ts';

/** The Service of a process that serves: port 80 → 8080. Pure. */
export function processService({ name }: PlatformProcess): Manifest {
  const labels = componentLabels(name);
  return systemObject(
    kinds.Service,
    name,
    { spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }] } },
    labels,
  );
}

/** The Service of the port from which the sidecars of function pods get events; no route leads to it. */
export const eventsService = 'svc-events';

/**
 * Port 80, and the number that console-api has for it, → console-api's port for events. In the embedded default a port below
 * 1024 may not be open, and only programs of Node find their way without one. Pure.
 */
export function eventsServiceManifest(): Manifest {
  const ports = [
    { name: 'http', port: 80, targetPort: 'events', protocol: 'TCP' },
    { name: 'stores', port: eventsPort, targetPort: 'events', protocol: 'TCP' },
  ];
  return systemObject(kinds.Service, eventsService, { spec: { selector: componentLabels('console-api'), ports } });
}

/** Keeps one replica through a drain of nodes, for a process that runs in two (spec.md §8). Pure. */
export function disruptionBudget({ name }: PlatformProcess): Manifest {
  const labels = componentLabels(name);
  return systemObject(
    kinds.PodDisruptionBudget,
    name,
    { spec: { minAvailable: 1, selector: { matchLabels: labels } } },
    labels,
  );
}

/**
 * Only the platform's own pods reach PostgreSQL and Redis, also where pods of environments may reach the private network
 * that these are in. Pure.
 */
export function storesPolicy(): Manifest {
  return systemObject(kinds.NetworkPolicy, 'svc-stores', {
    spec: {
      podSelector: { matchExpressions: [{ key: appLabel, operator: 'In', values: ['svc-postgres', 'svc-redis'] }] },
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ podSelector: {} }] }],
    },
  });
}

/**
 * The public route of the management API. TLS is what the entry point says (k3s: `websecure` has it on), so that an
 * ingress behind a proxy that ends TLS works too. Pure.
 */
export function consoleRoute(settings: PlatformSettings): Manifest {
  const labels = componentLabels('console-api');
  return systemObject(
    kinds.IngressRoute,
    'console-api',
    {
      spec: {
        entryPoints: settings.entryPoints,
        routes: [
          {
            kind: 'Rule',
            match: `Host(\`${consoleHost(settings)}\`)`,
            services: [{ name: 'console-api', port: 80 }],
          },
        ],
      },
    },
    labels,
  );
}
