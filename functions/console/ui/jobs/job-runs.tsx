import { useNavigate, useSearch } from '@tanstack/react-router';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { jobText } from '../text/jobs.ts';
import { Runs } from '../workloads/runs.tsx';
import { pathBelow } from '../workloads/workload.ts';
import { useJob } from './job.tsx';

/** The runs of a job, and the button that starts one. */
export function JobRuns() {
  const workload = useJob();
  const { place, name } = workload;
  const { run } = useSearch({ from: '/frame/projects/$project/environments/$environment/jobs/$job/runs' });
  const navigate = useNavigate({ from: '/projects/$project/environments/$environment/jobs/$job/runs' });
  const select = (selected: string | undefined) =>
    void navigate({ search: selected === undefined ? {} : { run: selected } });
  const mayRun = useMay(place.project, 'deployer');
  const start = useChange<{ id: string }>(place, ({ id }) => select(id));
  const command = commandOf('job', 'run', name, ...placeFlags(place));
  return (
    <div className="flex flex-col gap-6">
      {mayRun && (
        <div className="flex flex-col items-start gap-2">
          <Button
            look="primary"
            onClick={() => start.mutate({ path: pathBelow(workload, 'runs'), method: 'POST' })}
            disabled={start.isPending}
          >
            {jobText.start}
          </Button>
          <p className="text-sm text-zinc-600 dark:text-zinc-400">{jobText.startHint}</p>
          {start.data && <Note look="good">{jobText.started(start.data.id)}</Note>}
          {start.error && <ErrorNote error={start.error} />}
        </div>
      )}
      <Runs
        workload={workload}
        selected={run}
        select={select}
        empty={{ title: jobText.empty, hint: jobText.emptyHint, command }}
      />
    </div>
  );
}
