import { isIPv6 } from 'node:net';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { appLabel, systemNamespace } from '../../runtime/domain/labels.ts';

/** One group of targets of https://prometheus.io/docs/prometheus/latest/http_sd/. */
interface TargetGroup {
  targets: string[];
  labels: { job: 'platform' | 'monitoring'; process: string; pod: string; node: string };
}

/** The names of the ports on which processes of the platform and components of monitoring show their metrics. */
const metricsPorts = ['admin', 'metrics'];

/**
 * The targets whose metrics the metrics store collects: it asks for them, so that it needs no rights in the cluster. The
 * labels are never `namespace`, `kind` and `name`, which the metrics of workloads have themselves. Pure.
 */
export function scrapeTargets(pods: readonly Stored<Pod>[]): TargetGroup[] {
  return pods.flatMap(({ metadata, spec, status }) => {
    const { podIP, phase } = status ?? {};
    // A pod that has ended keeps its address for a while, and another pod may have it.
    if (podIP === undefined || phase !== 'Running') return [];
    const ports = spec.containers.flatMap((container) => container.ports ?? []);
    const targets = ports
      .filter(({ name }) => name !== undefined && metricsPorts.includes(name))
      .map(({ containerPort }) => `${isIPv6(podIP) ? `[${podIP}]` : podIP}:${containerPort}`);
    if (targets.length === 0) return [];
    const labels = {
      job: metadata.namespace === systemNamespace ? ('platform' as const) : ('monitoring' as const),
      process: metadata.labels?.[appLabel] ?? '',
      pod: metadata.name,
      node: spec.nodeName ?? '',
    };
    return [{ targets, labels }];
  });
}
