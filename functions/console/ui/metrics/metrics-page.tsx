import { useNavigate, useSearch } from '@tanstack/react-router';
import { useWorkload } from '../workloads/use-workload.ts';
import { Metrics } from './metrics.tsx';
import { metricsSearch } from './search.ts';

/** The figures of an app, function or job over time. */
export function MetricsPage() {
  const search = metricsSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  return (
    <Metrics
      workload={useWorkload()}
      search={search}
      change={(change) => void navigate({ to: '.', search: change, replace: true })}
    />
  );
}
