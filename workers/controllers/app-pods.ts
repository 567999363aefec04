import { appDeployment, type AppManifestInput } from '../../infra/manifests/app.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { ensureChild } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { checkClaims } from '../../runtime/kube/volume-claims.ts';
import { exclusiveVolume, oneReplicaOnly } from '../../runtime/kube/volume-users.ts';

/**
 * Creates or updates the Deployment object of an app's release.
 * @returns whether it changed
 * @throws Problem `invalid_value` for a mount of another object's storage, and for several pods with a volume that only one
 * can mount; whatever ensureChild throws
 */
export async function ensurePods(kube: KubeClient, app: Stored<App>, input: AppManifestInput): Promise<boolean> {
  const { replicas, volumes } = app.spec;
  await checkClaims(kube, input.namespace, volumes);
  const exclusive = await exclusiveVolume(kube, input.namespace, volumes);
  if (exclusive !== undefined && replicas > 1) throw oneReplicaOnly('App', exclusive);
  const desired = appDeployment({ ...input, exclusive: exclusive !== undefined });
  return (await ensureChild(kube, app, desired, { cached: true })) !== 'unchanged';
}
