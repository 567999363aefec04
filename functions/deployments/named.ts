import type { Pool } from 'pg';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { environmentsOf, resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { listProjectDeployments } from '../../runtime/records/deployment-lists.ts';

/**
 * Tells a list that is empty because of a wrong name from one in which nothing is yet. What is gone and has a history is
 * known still. @throws Problem `not_found` for an environment or an app that the project does not have
 */
export async function checkNamed(
  { kube, pool }: { kube: Pick<KubeClient, 'get'>; pool: Pool },
  project: string,
  { environment, app }: { environment?: string | undefined; app?: string | undefined },
): Promise<void> {
  if (environment === undefined && app === undefined) return;
  const history = await listProjectDeployments(pool, project, { environment, app, limit: 1 });
  if (history.length > 0) return;
  const named = environment === undefined ? undefined : await resolveEnvironment(kube, project, environment);
  if (app === undefined) return;
  const found = await kube.get<Project>(kinds.Project, project);
  for (const { namespace } of named ? [named] : found ? environmentsOf(found) : []) {
    if (await kube.get(kinds.App, app, namespace)) return;
  }
  const where = `${named ? `environment "${named.environment}" of ` : ''}project "${project}"`;
  throw new Problem('not_found', `There is no app "${app}" in ${where}; list them with \`svc app list\`.`);
}
