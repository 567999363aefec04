import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { boundEnvironment } from '../../runtime/workloads/bound-environment.ts';

/**
 * Whether the running pods were started with other variables, secrets or credentials of services. Compares the names of
 * the environment Secrets, which contain a digest; variables that do not resolve cannot be running.
 */
export async function isRestartPending(kube: Pick<KubeClient, 'get'>, app: Stored<App>): Promise<boolean> {
  const { release } = app.spec;
  if (!release) return false;
  try {
    const { environment, missing } = await boundEnvironment(kube, app);
    return missing.length > 0 || environment?.name !== release.envSecret;
  } catch (error) {
    if (error instanceof Problem) return true;
    throw error;
  }
}
