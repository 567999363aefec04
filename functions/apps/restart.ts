import type { Pool } from 'pg';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { accept } from '../../runtime/host/accept.ts';
import { findLivingApp } from '../../runtime/host/app-request.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { resolvedEnvironment } from '../../runtime/host/workload-environment.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { readSecrets } from '../../runtime/host/workload-secrets.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { restartTarget, sameImage } from '../../runtime/records/deployments.ts';
import { restartSchema } from './schema.ts';

/** `/projects/{p}/apps/{a}/restart`: with a deployment the pods get the variables and secrets of now. */
export function restartRoutes({ kube, pool, baseUrl }: { kube: KubeClient; pool: Pool; baseUrl: string }): Route[] {
  return [
    route({
      ...restartSchema,
      method: 'POST',
      path: '/projects/:project/apps/:app/restart',
      access: { project: 'deployer' },
      tag: 'apps',
      summary: 'Deploys what the app runs, or was last to run, once more, with its variables and secrets of now.',
      async handle(request) {
        const { environment, app } = await findLivingApp(kube, request);
        const workloadId = workloadIdOf(app);
        const actor = sessionOf(request).email;
        return accept({
          pool,
          baseUrl,
          project: environment.project,
          deployment: async (client) => {
            const same = sameImage(await restartTarget(client, workloadId));
            return { workloadId, trigger: 'manual', ...same, actor };
          },
        });
      },
    }),
  ];
}

/**
 * Whether what runs was started with other variables or secrets than there are now. Names of environments are compared,
 * which carry a digest; settings that do not resolve are certainly not what runs.
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
