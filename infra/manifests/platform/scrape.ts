import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { componentLabels, systemObject, type Manifest } from './object.ts';
import type { ProcessName } from './processes.ts';

/** The fields of a PodMonitor that the platform writes. */
interface PodMonitorSpec {
  selector: { matchLabels: Record<string, string> };
  podMetricsEndpoints: { port: string; path: string; interval: string; honorLabels: boolean }[];
}

/**
 * Lets a Prometheus operator collect the metrics of a process (docs/reference/metrics.md) from each replica. It uses the
 * admin port, so that scrapes do not compete with the ingress. The labels of workloads stay as they are: `namespace` is the
 * workload's and not that of the process. Pure.
 * https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PodMonitor
 */
export function processScrape(name: ProcessName): Manifest {
  const labels = componentLabels(name);
  return systemObject<{ spec: PodMonitorSpec }>(
    kinds.PodMonitor,
    name,
    {
      spec: {
        selector: { matchLabels: labels },
        podMetricsEndpoints: [{ port: 'admin', path: '/metrics', interval: '15s', honorLabels: true }],
      },
    },
    labels,
  );
}
