import { useNavigate, useSearch } from '@tanstack/react-router';
import { useWorkload } from '../workloads/use-workload.ts';
import { LogViewer } from './log-viewer.tsx';
import { logSearch } from './search.ts';

/** The log of an app, function or job, also of pods that are gone. */
export function LogPage() {
  const search = logSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  return (
    <LogViewer
      workload={useWorkload()}
      search={search}
      change={(change) =>
        void navigate({ to: '.', search: (before) => ({ ...logSearch(before), ...change }), replace: true })
      }
    />
  );
}
