import { randomBytes } from 'node:crypto';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { runRequestsMax, type JobResource, type JobSpec } from '../../runtime/contracts/resources/job.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/** Writers of one job that come between read and write. */
const maxRounds = 10;

/** Settings to change; null removes. */
export type JobChange = { [Field in keyof JobSpec]?: JobSpec[Field] | null };

/** Changes a job. @throws KubeError 404 when it went meanwhile, 409 when another one has its name now */
export async function patchJob(
  kube: Pick<KubeClient, 'mergePatch'>,
  { apiVersion, kind, metadata: { name, namespace = '', uid } }: Stored<JobResource>,
  spec: JobChange,
): Promise<Stored<JobResource>> {
  return kube.mergePatch<JobResource>({ apiVersion, kind, namespace, name }, { metadata: { uid }, spec });
}

/**
 * Writes down that a run is wanted: one write, after which the controller makes exactly one.
 * @param find reads the job anew for each try @returns the request's id
 * @throws Problem `too_many_requests` while too many wait, `conflict` when others keep writing
 */
export async function requestRun(
  kube: Pick<KubeClient, 'replace'>,
  find: () => Promise<Stored<JobResource>>,
  { at, by }: { at: Date; by: string },
): Promise<string> {
  const id = randomBytes(5).toString('hex');
  for (let round = 1; ; round++) {
    const job = await find();
    const { runRequests = [] } = job.spec;
    if (runRequests.length >= runRequestsMax) {
      throw new Problem(
        'too_many_requests',
        `${runRequests.length} runs of the job "${job.metadata.name}" wait to be started; try again once they are.`,
      );
    }
    const request = { id, at: at.toISOString(), by };
    try {
      await kube.replace({ ...job, spec: { ...job.spec, runRequests: [...runRequests, request] } });
      return id;
    } catch (error) {
      if (!isKubeError(error, 409)) throw error;
      if (round === maxRounds) {
        throw new Problem('conflict', `The job "${job.metadata.name}" is being changed by others; try again.`, {
          cause: error,
        });
      }
    }
  }
}
