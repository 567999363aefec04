import { useNavigate, useSearch } from '@tanstack/react-router';
import { Metrics } from '../metrics/metrics.tsx';
import { useFunction } from './function.tsx';

/** The figures of a function over time. */
export function FunctionMetrics() {
  const workload = useFunction();
  const search = useSearch({ from: '/frame/projects/$project/environments/$environment/functions/$function/metrics' });
  const navigate = useNavigate();
  return (
    <Metrics
      workload={workload}
      search={search}
      change={(change) =>
        void navigate({
          to: '/projects/$project/environments/$environment/functions/$function/metrics',
          params: { ...workload.place, function: workload.name },
          search: change,
          replace: true,
        })
      }
    />
  );
}
