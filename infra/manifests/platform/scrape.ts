import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { componentLabels, systemObject, type Manifest } from './object.ts';

/** The fields of a PodMonitor that the platform writes. */
interface PodMonitorSpec {
  selector: { matchLabels: Record<string, string> };
  podMetricsEndpoints: { port: string; path: string; interval: string }[];
}

/**
 * Lets a Prometheus operator collect the gate's metrics (docs/reference/metrics.md#gate) from each replica. It uses the
 * admin port, so that scrapes do not compete with the ingress. Pure.
 * https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PodMonitor
 */
export function gateScrape(): Manifest {
  const labels = componentLabels('svc-authz');
  return systemObject<{ spec: PodMonitorSpec }>(
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
