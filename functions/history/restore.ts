import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkMounts } from '../../runtime/api/mounts.ts';
import { isOwned, type Secret } from '../../runtime/workloads/owned-secret.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { RollbackTarget } from '../../runtime/records/deployments.ts';

/**
 * Checks that the environment and settings of a revision can be restored.
 * @throws Problem `conflict` when they were not stored or no longer exist; `invalid_value` for a volume that was deleted
 */
export async function checkRestorable(
  kube: Pick<KubeClient, 'get'>,
  app: Stored<App>,
  { revision, settings, envSecret }: RollbackTarget,
): Promise<void> {
  const { namespace = '' } = app.metadata;
  const refusal = (reason: string) => new Problem('conflict', `${reason}. Roll back without --with-config.`);
  if (!settings) throw refusal(`The settings of revision ${revision} were not stored`);
  if (envSecret !== null) {
    const secret = await kube.get<Secret>(kinds.Secret, envSecret, namespace);
    if (!secret || !isOwned(secret, app)) throw refusal(`The environment of revision ${revision} no longer exists`);
  }
  if (settings.volumes) await checkMounts(kube, namespace, settings.volumes);
}
