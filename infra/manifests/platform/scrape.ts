import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { componentLabels, systemObject, type Manifest } from './object.ts';

/**
 * What lets a Prometheus operator collect the gate's metrics (spec.md §6.2) from each of its replicas. The admin port is
 * asked, so that nobody who scrapes stands in the way of the ingress. Pure.
 * https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PodMonitor
 */
export function gateScrape(): Manifest {
  const labels = componentLabels('svc-authz');
  return systemObject(
    kinds.PodMonitor,
    'svc-authz',
    {
      spec: {
        selector: { matchLabels: labels },
        podMetricsEndpoints: [{ port: 'admin', path: '/metrics', interval: '15s' }],
      },
    },
    labels,
  );
}
