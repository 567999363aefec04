import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { unreadyBindings } from '../../runtime/workloads/bindings.ts';
import { boundEnvironment, currentCredentials } from '../../runtime/workloads/bound-environment.ts';
import {
  ensureEnvironmentSecret,
  renewedEnvironment,
  reuseEnvironmentSecret,
} from '../../runtime/workloads/environment.ts';
import { expectsSecrets, hasSecrets } from '../../runtime/workloads/secrets.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Rollout } from './store.ts';

/** The release waits for a binding that is being provisioned, or for the secrets of a new app. */
export class EnvironmentPendingError extends Error {
  override readonly name = 'EnvironmentPendingError';
}

/**
 * Creates the environment Secret of a release from the app's current variables, secrets and bindings, or finds the Secret of the
 * revision that a rollback restores. A Secret of a release that was not applied is used by the next release or deleted.
 * @returns the name of the Secret; undefined for an app without variables and secrets
 * @throws Problem `invalid_value` when a variable does not resolve, `conflict` when the Secret to restore was deleted,
 * `not_ready` for a binding that failed; EnvironmentPendingError; ChildError when the Secret cannot be created
 */
export async function ensureEnvironment(
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>,
  app: Stored<App>,
  { revision, restores, rollbackOf, keptSettings, keptEnvSecret }: Rollout,
): Promise<string | undefined> {
  // A revision without stored settings has no stored environment either.
  if (restores !== null && keptSettings) {
    if (keptEnvSecret === null) return undefined;
    // Its passwords may have been replaced since.
    const now = { variables: keptSettings.env ?? [], ...(await currentCredentials(kube, app)) };
    const renewed = await renewedEnvironment(kube, app, keptEnvSecret, now);
    if (renewed) {
      await ensureEnvironmentSecret(kube, app, renewed, revision);
      return renewed.name;
    }
    if (await reuseEnvironmentSecret(kube, app, keptEnvSecret, revision)) return keptEnvSecret;
    if (restores === 'config') {
      throw new Problem(
        'conflict',
        `The configuration of revision ${rollbackOf} was deleted. Roll back without --with-config.`,
      );
    }
  }
  if (expectsSecrets(app) && !(await hasSecrets(kube, app))) {
    throw new EnvironmentPendingError('the secrets are not stored yet');
  }
  const { environment, missing } = await boundEnvironment(kube, app);
  if (missing.length > 0) {
    const failed = unreadyBindings(app).find(({ phase }) => phase === 'failed');
    if (!failed) throw new EnvironmentPendingError(`the binding to ${missing.join(', ')} is not ready yet`);
    const message = `The binding to "${failed.service}" failed: ${failed.message ?? 'see its status'}`;
    throw new Problem('not_ready', `${message} When it is ready, deploy again.`);
  }
  if (!environment) return undefined;
  await ensureEnvironmentSecret(kube, app, environment, revision);
  return environment.name;
}
