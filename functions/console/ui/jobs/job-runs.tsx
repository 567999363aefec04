import { commandOf, placeFlags } from '../api/command.ts';
import { jobText } from '../text/jobs.ts';
import { RunsPage } from '../workloads/runs-page.tsx';
import { useJob } from './job.tsx';

/** The runs of a job, and the button that starts one. */
export function JobRuns() {
  const workload = useJob();
  const command = commandOf('job', 'run', workload.name, ...placeFlags(workload.place));
  return <RunsPage workload={workload} below="runs" words={jobText} command={command} />;
}
