import { appDeployment, type AppManifestInput } from '../../infra/manifests/app.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { ensureChildObject } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { checkClaims } from '../../runtime/kube/volume-claims.ts';
import { exclusiveVolume, oneReplicaOnly } from '../../runtime/kube/volume-users.ts';
import type { Deployment } from './deployment-object.ts';

/**
 * Creates or updates the Deployment object of an app's release.
 * @returns the object, as it was written or last seen: a newer status causes another reconcile
 * @throws Problem `invalid_value` for a mount of another object's storage, and for several pods with a volume that only one
 * can mount; whatever ensureChild throws
 */
export async function ensurePods(
  kube: KubeClient,
  app: Stored<App>,
  input: AppManifestInput,
): Promise<Stored<Deployment>> {
  const { replicas, volumes } = app.spec;
  await checkClaims(kube, input.namespace, volumes);
  const exclusive = await exclusiveVolume(kube, input.namespace, volumes);
  if (exclusive !== undefined && replicas > 1) throw oneReplicaOnly('App', exclusive);
  const desired: Deployment = appDeployment({ ...input, exclusive: exclusive !== undefined });
  return (await ensureChildObject(kube, app, desired, { cached: true })).object;
}
