import type { RunLogs } from '../../runtime/contracts/api/runs.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { JobResource } from '../../runtime/contracts/resources/job.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { readPodLogs } from '../../runtime/host/pod-logs.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { jobRuns } from './view.ts';

/**
 * The logs of a run's attempts: of the named run, or of the newest one.
 * @throws Problem `not_found` when there is no such run, or none at all
 */
export async function readLogs(
  kube: Pick<KubeClient, 'list' | 'text'>,
  job: Stored<JobResource>,
  { run, tail }: { run?: string | undefined; tail: number },
): Promise<RunLogs> {
  const { name, namespace = '' } = job.metadata;
  const runs = jobRuns(job);
  const found = run === undefined ? runs[0] : runs.find((one) => one.name === run);
  if (!found) {
    const missing =
      run === undefined ? 'has not run yet' : `has no run "${run}"; list them with \`svc job runs ${name}\``;
    throw new Problem('not_found', `The job "${name}" ${missing}.`);
  }
  const labelSelector = `${idLabel}=${workloadIdOf(job)},batch.kubernetes.io/job-name=${found.name}`;
  return { run: found.name, pods: await readPodLogs(kube, { namespace, labelSelector, container: 'job' }, tail) };
}
