import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import {
  ensureEnvironmentSecret,
  resolvedEnvironment,
  reuseEnvironmentSecret,
} from '../../runtime/host/workload-environment.ts';
import { readSecrets } from '../../runtime/host/workload-secrets.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Rollout } from './store.ts';

/**
 * Makes the environment that a release is to run in, of the app's variables and secrets as they are now, or finds that of
 * the revision which a rollback brings back. Whatever was made for a release that then did not come is used by the next
 * one or removed.
 * @returns the name of its Secret; undefined when the app has neither
 * @throws Problem `invalid_value` when they do not resolve, `conflict` when what is to come back is gone; ChildError when
 * the Secret cannot be made
 */
export async function ensureEnvironment(
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>,
  app: Stored<App>,
  { revision, restores, rollbackOf, keptSettings, keptEnvSecret }: Rollout,
): Promise<string | undefined> {
  // Without settings nothing was kept of that revision, its environment neither.
  if (restores !== null && keptSettings) {
    if (keptEnvSecret === null) return undefined;
    if (await reuseEnvironmentSecret(kube, app, keptEnvSecret, revision)) return keptEnvSecret;
    if (restores === 'config') {
      throw new Problem(
        'conflict',
        `The environment of revision ${rollbackOf} is kept no longer; roll back without it.`,
      );
    }
  }
  const environment = resolvedEnvironment(app, app.spec.env ?? [], await readSecrets(kube, app));
  if (!environment) return undefined;
  await ensureEnvironmentSecret(kube, app, environment, revision);
  return environment.name;
}
