import { WorkloadVariables } from '../workloads/variables.tsx';
import { useJob } from './job.tsx';

/** The variables and secrets of a job. */
export function JobVariables() {
  return <WorkloadVariables {...useJob()} />;
}
