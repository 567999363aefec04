import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Metrics } from '../metrics/metrics.tsx';
import { appRoute } from './app.tsx';

/** The figures of an app over time, with its deployments. */
export function AppMetrics() {
  const { app: name, ...place } = useParams({ from: appRoute });
  const search = useSearch({ from: `${appRoute}/metrics` });
  const navigate = useNavigate();
  return (
    <Metrics
      workload={{ place, kind: 'app', name }}
      search={search}
      change={(change) =>
        void navigate({
          to: '/projects/$project/environments/$environment/apps/$app/metrics',
          params: { ...place, app: name },
          search: change,
          replace: true,
        })
      }
    />
  );
}
