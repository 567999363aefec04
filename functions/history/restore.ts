import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkMounts } from '../../runtime/host/mounts.ts';
import { isOwned, type Secret } from '../../runtime/host/owned-secret.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { RollbackTarget } from '../../runtime/records/deployments.ts';

/**
 * Whether an app can get the environment and settings of a revision back, by what is there now.
 * @throws Problem `conflict` when they were not kept, or are no longer; `invalid_value` for a volume that is gone
 */
export async function checkRestorable(
  kube: Pick<KubeClient, 'get'>,
  app: Stored<App>,
  { revision, settings, envSecret }: RollbackTarget,
): Promise<void> {
  const { namespace = '' } = app.metadata;
  const refuse = (why: string) => new Problem('conflict', `${why}; roll back without its configuration.`);
  if (!settings) throw refuse(`Revision ${revision} was deployed before settings were kept`);
  if (envSecret !== null) {
    const secret = await kube.get<Secret>(kinds.Secret, envSecret, namespace);
    if (!secret || !isOwned(secret, app)) throw refuse(`The environment of revision ${revision} is kept no longer`);
  }
  if (settings.volumes) await checkMounts(kube, namespace, settings.volumes);
}
