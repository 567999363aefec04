import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { JobResource, JobSpec } from '../../runtime/contracts/resources/job.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** Settings to change; null removes one. */
export type JobChange = { [Field in keyof JobSpec]?: JobSpec[Field] | null };

/** Changes a job. @throws KubeError 404 when it was deleted, 409 when it was recreated under its name */
export async function patchJob(
  kube: Pick<KubeClient, 'mergePatch'>,
  { apiVersion, kind, metadata: { name, namespace = '', uid } }: Stored<JobResource>,
  spec: JobChange,
): Promise<Stored<JobResource>> {
  return kube.mergePatch<JobResource>({ apiVersion, kind, namespace, name }, { metadata: { uid }, spec });
}
