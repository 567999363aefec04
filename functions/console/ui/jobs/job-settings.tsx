import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { JobView } from '../../../../runtime/contracts/api/jobs.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { jobText } from '../text/jobs.ts';
import { workloadText } from '../text/workloads.ts';
import { DangerZone } from '../workloads/danger.tsx';
import { viewQuery } from '../workloads/queries.ts';
import { pathBelow, type Workload } from '../workloads/workload.ts';
import { EditJob } from './edit-job.tsx';
import { useJob } from './job.tsx';

/** Suspends the schedule of a job, changes its settings, and deletes the job. */
export function JobSettings() {
  const workload = useJob();
  const navigate = useNavigate();
  const mayChange = useMay(workload.place.project, 'deployer');
  const { data: view } = useQuery(viewQuery(workload));
  if (!mayChange) return <p className="text-sm">{jobText.viewer}</p>;
  return (
    <div className="flex flex-col gap-8">
      {view?.schedule !== undefined && <Suspension workload={workload} suspended={view.suspended} />}
      {view && <EditJob workload={workload} view={view} />}
      <DangerZone
        workload={workload}
        effect={jobText.delete}
        deleted={() => void navigate({ to: '/projects/$project/environments/$environment', params: workload.place })}
      />
    </div>
  );
}

function Suspension({ workload, suspended }: { workload: Workload; suspended: boolean }) {
  const { place, name } = workload;
  const change = useChange<JobView>(place);
  const flag = suspended ? '--resume' : '--suspend';
  return (
    <section aria-labelledby="suspension" className="flex flex-col items-start gap-3">
      <h2 id="suspension" className="text-lg font-semibold">
        {workloadText.schedule.title}
      </h2>
      <Button
        onClick={() => change.mutate({ path: pathBelow(workload), method: 'PATCH', body: { suspended: !suspended } })}
        disabled={change.isPending}
      >
        {suspended ? jobText.resume : jobText.suspend}
      </Button>
      {change.error && <ErrorNote error={change.error} />}
      <div className="w-full">
        <Command command={commandOf('job', 'update', name, flag, ...placeFlags(place))} />
      </div>
    </section>
  );
}
