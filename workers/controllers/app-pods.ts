import { appDeployment, type AppManifestInput } from '../../infra/manifests/app.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { ensureChild } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { exclusiveVolume, oneReplicaOnly } from '../../runtime/kube/volume-users.ts';

/**
 * Brings the Deployment of an app's release to what the spec says.
 * @returns whether it was not so
 * @throws Problem `invalid_value` for more than one pod over a volume that only one may have; what ensureChild throws
 */
export async function ensurePods(kube: KubeClient, app: Stored<App>, input: AppManifestInput): Promise<boolean> {
  const { replicas, volumes } = app.spec;
  const exclusive = await exclusiveVolume(kube, input.namespace, volumes);
  if (exclusive !== undefined && replicas > 1) throw oneReplicaOnly('App', exclusive);
  const wanted = appDeployment({ ...input, exclusive: exclusive !== undefined });
  return (await ensureChild(kube, app, wanted, { cached: true })) !== 'unchanged';
}
