import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Metrics } from '../metrics/metrics.tsx';
import { metricsSearch } from '../metrics/search.ts';
import { serviceText as words } from '../text/services.ts';
import { serviceQuery } from './queries.ts';
import { useService } from './service.tsx';

/** The figures of a service over time. The platform measures its own pods only. */
export function ServiceMetrics() {
  const service = useService();
  const { data: view } = useQuery(serviceQuery(service.place, service.name));
  const search = metricsSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  if (view?.external) return <p className="text-sm">{words.noMetrics}</p>;
  return (
    <Metrics
      workload={service}
      search={search}
      change={(change) => void navigate({ to: '.', search: change, replace: true })}
    />
  );
}
