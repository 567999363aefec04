import type { V1NetworkPolicy } from '@kubernetes/client-node';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel, systemNamespace } from '../../../runtime/domain/labels.ts';
import {
  monitoringNamespace,
  shipperNamespace,
  type ComponentName,
  type MonitoringNamespace,
} from '../../../runtime/domain/monitoring.ts';
import type { Manifest } from '../platform/object.ts';
import { componentObject } from './objects.ts';

/** A program that connects to a component. */
interface Client {
  namespace: typeof systemNamespace | MonitoringNamespace;
  app: string;
}

const metricsStore: Client = { namespace: monitoringNamespace, app: 'metrics-store' };
const dashboards: Client = { namespace: monitoringNamespace, app: 'dashboards' };
const shipper: Client = { namespace: shipperNamespace, app: 'log-shipper' };
const workers: Client = { namespace: systemNamespace, app: 'svc-workers' };
const api: Client = { namespace: systemNamespace, app: 'console-api' };

/**
 * Who may connect to which component, and to which port. Nothing else may: neither pods of environments nor the other
 * processes of the platform. Admins come through the API server (`kubectl port-forward`), which no policy restricts.
 */
export const clientsOf: Readonly<Record<ComponentName, readonly { port: number; from: readonly Client[] }[]>> = {
  'metrics-store': [{ port: 9090, from: [api, dashboards, metricsStore] }],
  'node-exporter': [{ port: 9100, from: [metricsStore] }],
  alertmanager: [{ port: 9093, from: [metricsStore, api, workers] }],
  'log-store': [
    { port: 3100, from: [api, workers, shipper] },
    { port: 8081, from: [metricsStore] },
  ],
  'log-shipper': [{ port: 8081, from: [metricsStore] }],
  dashboards: [],
};

/** The NetworkPolicy of a component, with the clients of {@link clientsOf}. Pure. */
export function componentPolicy(component: { name: ComponentName; namespace: MonitoringNamespace }): Manifest {
  return componentObject<V1NetworkPolicy>(component, kinds.NetworkPolicy, component.name, {
    spec: {
      podSelector: { matchLabels: { [appLabel]: component.name } },
      policyTypes: ['Ingress'],
      ingress: clientsOf[component.name].map(({ port, from }) => ({
        from: from.map(({ namespace, app }) => ({
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          podSelector: { matchLabels: { [appLabel]: app } },
        })),
        ports: [{ protocol: 'TCP', port }],
      })),
    },
  });
}
