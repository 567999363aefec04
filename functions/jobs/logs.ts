import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { JobResource } from '../../runtime/contracts/resources/job.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { jobRuns } from './view.ts';

/** The run of a name, or the newest. @throws Problem `not_found` when there is no such run, or none at all */
export function loggedRun(job: Stored<JobResource>, run: string | undefined): string {
  const { name } = job.metadata;
  const runs = jobRuns(job);
  const found = run === undefined ? runs[0] : runs.find((one) => one.name === run);
  if (found) return found.name;
  const missing =
    run === undefined ? 'has not run yet' : `has no run "${run}"; list them with \`svc job runs ${name}\``;
  throw new Problem('not_found', `The job "${name}" ${missing}.`);
}
