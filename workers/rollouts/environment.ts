import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { ensureEnvironmentSecret, resolvedEnvironment } from '../../runtime/host/workload-environment.ts';
import { readSecrets } from '../../runtime/host/workload-secrets.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/**
 * Makes the environment that a release is to run in, of the app's variables and secrets as they are now. Whatever was
 * made for a release that then did not come is used by the next one or removed.
 * @returns the name of its Secret; undefined when the app has neither
 * @throws Problem `invalid_value` when they do not resolve; ChildError when the Secret cannot be made
 */
export async function ensureEnvironment(
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>,
  app: Stored<App>,
  generation: number,
): Promise<string | undefined> {
  const environment = resolvedEnvironment(app, app.spec.env ?? [], await readSecrets(kube, app));
  if (!environment) return undefined;
  await ensureEnvironmentSecret(kube, app, environment, generation);
  return environment.name;
}
