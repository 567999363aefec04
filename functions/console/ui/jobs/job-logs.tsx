import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { LogPage } from '../logs/log-page.tsx';
import { Select } from '../parts/choice.tsx';
import { jobText } from '../text/jobs.ts';
import { runsQuery } from '../workloads/queries.ts';
import { RunLog } from '../workloads/runs.tsx';
import { useJob } from './job.tsx';

/** The log of a job: of all runs together, also of deleted ones, or of one run. */
export function JobLogs() {
  const workload = useJob();
  const { run } = useSearch({ strict: false });
  const navigate = useNavigate();
  const runs = useQuery(runsQuery(workload)).data?.items ?? [];
  const options = runs.map(({ name, status }) => ({ value: name, label: `${name} (${status})` }));
  // The run of the address may be deleted, or not be listed yet.
  const unlisted = run === undefined || runs.some(({ name }) => name === run) ? [] : [{ value: run }];
  return (
    <div className="flex flex-col gap-4">
      <div className="max-w-sm text-sm">
        <Select
          label={jobText.logs.run}
          value={run ?? ''}
          options={[{ value: '', label: jobText.logs.all }, ...options, ...unlisted]}
          onChange={({ target: { value } }) => void navigate({ to: '.', search: value === '' ? {} : { run: value } })}
        />
      </div>
      {run === undefined ? <LogPage /> : <RunLog workload={workload} run={run} />}
    </div>
  );
}
