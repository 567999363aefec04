import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import {
  ensureEnvironmentSecret,
  resolvedEnvironment,
  reuseEnvironmentSecret,
} from '../../runtime/workloads/environment.ts';
import { readSecrets } from '../../runtime/workloads/secrets.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Rollout } from './store.ts';

/**
 * Creates the environment Secret of a release from the app's current variables and secrets, or finds the Secret of the
 * revision that a rollback restores. A Secret of a release that was not applied is used by the next release or deleted.
 * @returns the name of the Secret; undefined for an app without variables and secrets
 * @throws Problem `invalid_value` when a variable does not resolve, `conflict` when the Secret to restore was deleted;
 * ChildError when the Secret cannot be created
 */
export async function ensureEnvironment(
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>,
  app: Stored<App>,
  { revision, restores, rollbackOf, keptSettings, keptEnvSecret }: Rollout,
): Promise<string | undefined> {
  // A revision without stored settings has no stored environment either.
  if (restores !== null && keptSettings) {
    if (keptEnvSecret === null) return undefined;
    if (await reuseEnvironmentSecret(kube, app, keptEnvSecret, revision)) return keptEnvSecret;
    if (restores === 'config') {
      throw new Problem(
        'conflict',
        `The configuration of revision ${rollbackOf} was deleted. Roll back without --with-config.`,
      );
    }
  }
  const environment = resolvedEnvironment(app, app.spec.env ?? [], await readSecrets(kube, app));
  if (!environment) return undefined;
  await ensureEnvironmentSecret(kube, app, environment, revision);
  return environment.name;
}
