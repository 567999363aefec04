import type { AppSpec } from '../../runtime/contracts/resources/app.ts';
import { checkHealthPath } from '../../runtime/domain/container-paths.ts';
import { checkLimits } from '../../runtime/domain/quantity.ts';
import { checkCommand } from '../../runtime/api/app-commands.ts';
import { checkMounts } from '../../runtime/api/mounts.ts';
import { checkQuota } from '../../runtime/api/quota.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { exclusiveVolume, oneReplicaOnly } from '../../runtime/kube/volume-users.ts';
import type { AppChange } from './store.ts';

/**
 * Checks quantities, the environment's limits, volumes, the health path, the release command and the number of replicas, which a schema cannot check.
 * @param current the app's settings; absent for a new app
 * @throws Problem `invalid_value`, also for more than one replica with a volume that only one pod can mount
 */
export async function checkSettings(
  kube: Pick<KubeClient, 'get'>,
  environment: Environment,
  change: Pick<AppChange, 'memory' | 'cpu' | 'volumes' | 'replicas' | 'healthPath' | 'releaseCommand'>,
  current?: Pick<AppSpec, 'volumes' | 'replicas' | 'memory'>,
): Promise<void> {
  checkLimits(change);
  const { namespace } = environment;
  if (!current || change.memory !== undefined || change.replicas !== undefined) {
    const memory = change.memory === undefined ? current?.memory : change.memory;
    await checkQuota(kube, environment, { memory, replicas: change.replicas ?? current?.replicas });
  }
  if (typeof change.healthPath === 'string') checkHealthPath(change.healthPath);
  if (change.releaseCommand) checkCommand(change.releaseCommand, 'releaseCommand');
  if (change.volumes) await checkMounts(kube, namespace, change.volumes);
  if (change.volumes === undefined && change.replicas === undefined) return;
  const replicas = change.replicas ?? current?.replicas ?? 1;
  if (replicas <= 1) return;
  const exclusive = await exclusiveVolume(kube, namespace, change.volumes ?? current?.volumes ?? []);
  if (exclusive !== undefined) throw oneReplicaOnly('App', exclusive);
}
