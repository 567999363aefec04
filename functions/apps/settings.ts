import type { AppSpec } from '../../runtime/contracts/resources/app.ts';
import { checkLimits } from '../../runtime/domain/quantity.ts';
import { checkMounts } from '../../runtime/host/mounts.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { exclusiveVolume, oneReplicaOnly } from '../../runtime/kube/volume-users.ts';
import type { AppChange } from './store.ts';

/**
 * What a schema cannot say of the settings that make an app's pods.
 * @param before the app as it is; none for a new one
 * @throws Problem `invalid_value` for quantities that are none, volumes that are not there, and more than one pod over a
 * volume that only one may have
 */
export async function checkSettings(
  kube: Pick<KubeClient, 'get'>,
  namespace: string,
  change: Pick<AppChange, 'memory' | 'cpu' | 'volumes' | 'replicas'>,
  before?: Pick<AppSpec, 'volumes' | 'replicas'>,
): Promise<void> {
  checkLimits(change);
  if (change.volumes) await checkMounts(kube, namespace, change.volumes);
  if (change.volumes === undefined && change.replicas === undefined) return;
  const replicas = change.replicas ?? before?.replicas ?? 1;
  if (replicas <= 1) return;
  const exclusive = await exclusiveVolume(kube, namespace, change.volumes ?? before?.volumes ?? []);
  if (exclusive !== undefined) throw oneReplicaOnly('App', exclusive);
}
