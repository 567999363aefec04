import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { resolvedEnvironment } from '../../runtime/workloads/environment.ts';
import { readSecrets } from '../../runtime/workloads/secrets.ts';

/**
 * Whether the running pods were started with other variables or secrets. Compares the names of the environment Secrets,
 * which contain a digest; variables that do not resolve cannot be running.
 */
export async function isRestartPending(kube: Pick<KubeClient, 'get'>, app: Stored<App>): Promise<boolean> {
  const { release, env = [] } = app.spec;
  if (!release) return false;
  const secrets = await readSecrets(kube, app);
  try {
    return resolvedEnvironment(app, env, secrets)?.name !== release.envSecret;
  } catch (error) {
    if (error instanceof Problem) return true;
    throw error;
  }
}
