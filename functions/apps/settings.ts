import type { AppSpec } from '../../runtime/contracts/resources/app.ts';
import { checkHealthPath } from '../../runtime/domain/container-paths.ts';
import { checkLimits } from '../../runtime/domain/quantity.ts';
import { checkMounts } from '../../runtime/api/mounts.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { exclusiveVolume, oneReplicaOnly } from '../../runtime/kube/volume-users.ts';
import type { AppChange } from './store.ts';

/**
 * Checks quantities, volumes, the health path and the number of replicas, which a schema cannot check.
 * @param current the app's settings; absent for a new app
 * @throws Problem `invalid_value`, also for more than one replica with a volume that only one pod can mount
 */
export async function checkSettings(
  kube: Pick<KubeClient, 'get'>,
  namespace: string,
  change: Pick<AppChange, 'memory' | 'cpu' | 'volumes' | 'replicas' | 'healthPath'>,
  current?: Pick<AppSpec, 'volumes' | 'replicas'>,
): Promise<void> {
  checkLimits(change);
  if (typeof change.healthPath === 'string') checkHealthPath(change.healthPath);
  if (change.volumes) await checkMounts(kube, namespace, change.volumes);
  if (change.volumes === undefined && change.replicas === undefined) return;
  const replicas = change.replicas ?? current?.replicas ?? 1;
  if (replicas <= 1) return;
  const exclusive = await exclusiveVolume(kube, namespace, change.volumes ?? current?.volumes ?? []);
  if (exclusive !== undefined) throw oneReplicaOnly('App', exclusive);
}
