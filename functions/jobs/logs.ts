import type { jobLogs } from '../../runtime/contracts/api/jobs.ts';
import type { z } from 'zod';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { JobResource } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { runViews } from './view.ts';

/** Bytes of one attempt's log that are read at most. */
const logMaxBytes = 1024 * 1024;
const container = 'job';

/**
 * The logs of a run's attempts: of the named run, or of the newest one.
 * @throws Problem `not_found` when there is no such run, or none at all
 */
export async function readLogs(
  kube: Pick<KubeClient, 'list' | 'text'>,
  job: Stored<JobResource>,
  { run, tail }: { run?: string | undefined; tail: number },
): Promise<z.output<typeof jobLogs>> {
  const { name, namespace = '' } = job.metadata;
  const runs = runViews(job);
  const found = run === undefined ? runs[0] : runs.find((one) => one.name === run);
  if (!found) {
    const missing =
      run === undefined ? 'has not run yet' : `has no run "${run}"; list them with \`svc job runs ${name}\``;
    throw new Problem('not_found', `The job "${name}" ${missing}.`);
  }
  const { items } = await kube.list<Pod>(kinds.Pod, {
    namespace,
    labelSelector: `${idLabel}=${workloadIdOf(job)},batch.kubernetes.io/job-name=${found.name}`,
  });
  const byAge = items.sort((a, b) =>
    (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''),
  );
  const pods = [];
  for (const { metadata } of byAge) {
    const log = await readLog(kube, namespace, metadata.name, tail);
    pods.push({ name: metadata.name, ...(log !== undefined && { log }) });
  }
  return { run: found.name, pods };
}

/** Undefined while there is none: before the container has started, or after the pod has gone. */
async function readLog(
  kube: Pick<KubeClient, 'text'>,
  namespace: string,
  pod: string,
  tail: number,
): Promise<string | undefined> {
  const query = new URLSearchParams({ container, tailLines: String(tail), limitBytes: String(logMaxBytes) });
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log?${query.toString()}`;
  try {
    return await kube.text(path);
  } catch (error) {
    if (isKubeError(error, 400) || isKubeError(error, 404)) return undefined;
    throw error;
  }
}
