import { queryOptions } from '@tanstack/react-query';
import type { AnyMetrics, MetricsRange } from '../../../../runtime/contracts/api/metrics.ts';
import { pathOf, request } from '../api/client.ts';
import { polled } from '../api/live.ts';
import { pathBelow, type Measured } from '../workloads/workload.ts';

/** The figures of a workload over time. */
export function metricsQuery(workload: Measured, range: MetricsRange) {
  const { place, kind, name } = workload;
  const { project, environment } = place;
  return queryOptions({
    queryKey: ['project', project, environment, kind, name, 'metrics', range],
    queryFn: ({ signal }) =>
      request<AnyMetrics>(pathOf('projects', project, ...pathBelow(workload, 'metrics')), {
        query: { environment, range },
        signal,
      }),
    ...polled,
  });
}
