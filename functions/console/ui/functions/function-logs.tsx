import { useNavigate, useSearch } from '@tanstack/react-router';
import { LogViewer } from '../logs/log-viewer.tsx';
import { useFunction } from './function.tsx';

/** The log of a function, also of pods that are gone. */
export function FunctionLogs() {
  const workload = useFunction();
  const search = useSearch({ from: '/frame/projects/$project/environments/$environment/functions/$function/logs' });
  const navigate = useNavigate();
  return (
    <LogViewer
      workload={workload}
      search={search}
      change={(change) =>
        void navigate({
          to: '/projects/$project/environments/$environment/functions/$function/logs',
          params: { ...workload.place, function: workload.name },
          search: (before) => ({ ...before, ...change }),
          replace: true,
        })
      }
    />
  );
}
