import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { LogViewer } from '../logs/log-viewer.tsx';
import { appRoute } from './app.tsx';

/** The log of an app. */
export function AppLogs() {
  const { app: name, ...place } = useParams({ from: appRoute });
  const search = useSearch({ from: `${appRoute}/logs` });
  const navigate = useNavigate();
  return (
    <LogViewer
      workload={{ place, kind: 'app', name }}
      search={search}
      change={(change) =>
        void navigate({
          to: '/projects/$project/environments/$environment/apps/$app/logs',
          params: { ...place, app: name },
          search: (before) => ({ ...before, ...change }),
          replace: true,
        })
      }
    />
  );
}
