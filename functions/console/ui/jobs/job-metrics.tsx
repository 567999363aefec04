import { useNavigate, useSearch } from '@tanstack/react-router';
import { Metrics } from '../metrics/metrics.tsx';
import { useJob } from './job.tsx';

/** The figures of a job over time. */
export function JobMetrics() {
  const workload = useJob();
  const search = useSearch({ from: '/frame/projects/$project/environments/$environment/jobs/$job/metrics' });
  const navigate = useNavigate();
  return (
    <Metrics
      workload={workload}
      search={search}
      change={(change) =>
        void navigate({
          to: '/projects/$project/environments/$environment/jobs/$job/metrics',
          params: { ...workload.place, job: workload.name },
          search: change,
          replace: true,
        })
      }
    />
  );
}
