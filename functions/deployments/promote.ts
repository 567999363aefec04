import type { PoolClient } from 'pg';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { gitSourceConfigured } from '../../runtime/domain/git-source.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { getWorkload, workloadIdOf } from '../../runtime/workloads/objects.ts';
import { resolveEnvironment, type Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { NewDeployment } from '../../runtime/records/acceptance.ts';
import { currentDeployment, sameImage } from '../../runtime/records/deployments.ts';

interface Promotion {
  project: string;
  app: string;
  from: string;
  to: string;
  actor: string;
}

/**
 * Finds the app in both environments, and returns a function that reads the deployment to promote within the transaction
 * that accepts the new one.
 * @throws Problem `not_found` with the command that creates the missing app, `invalid_value` for the same environment
 * twice, `git_source_configured`, `not_ready`
 */
export async function preparePromotion(
  kube: KubeClient,
  { project, app: name, from, to, actor }: Promotion,
): Promise<(client: PoolClient) => Promise<NewDeployment>> {
  if (from === to) {
    throw new Problem(
      'invalid_value',
      `The source and the target are both "${from}". Name two different environments.`,
      { details: { field: 'to' } },
    );
  }
  const [source, target] = [await resolveEnvironment(kube, project, from), await resolveEnvironment(kube, project, to)];
  const sourceApp = await getWorkload<App>(kube, 'App', source, name);
  const targetApp = await findTarget(kube, target, sourceApp);
  return async (client) => {
    const current = await currentDeployment(client, workloadIdOf(sourceApp));
    if (!current || current.revision === null) {
      throw new Problem(
        'not_ready',
        `No deployment of "${name}" has succeeded in "${from}" yet. Promote it after one has.`,
      );
    }
    const promotedFrom = { environment: from, revision: current.revision };
    return { workloadId: workloadIdOf(targetApp), trigger: 'promotion', ...sameImage(current), actor, promotedFrom };
  };
}

async function findTarget(
  kube: KubeClient,
  { project, environment, namespace }: Environment,
  source: Stored<App>,
): Promise<Stored<App>> {
  const { name } = source.metadata;
  const target = await kube.get<App>(kinds.App, name, namespace);
  const image = source.spec.release?.image ?? source.spec.image;
  const create = `svc app create ${name} --image ${image} --port ${source.spec.port} --project ${project} --environment ${environment}`;
  if (!target) {
    throw new Problem('not_found', `There is no app "${name}" in "${environment}" yet. Create it: ${create}`);
  }
  if (target.metadata.deletionTimestamp !== undefined) {
    throw new Problem(
      'not_ready',
      `The app "${name}" of "${environment}" is being deleted. Create it again when the deletion has finished.`,
    );
  }
  if (target.spec.git) {
    throw gitSourceConfigured(name, [`--project ${project}`, `--environment ${environment}`]);
  }
  return target;
}
