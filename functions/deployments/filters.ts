import type { Pool } from 'pg';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { environmentsOf, resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { listProjectDeployments } from '../../runtime/records/deployment-lists.ts';

/**
 * Checks the names behind an empty list. Deleted apps and environments that have deployments are valid.
 * @throws Problem `not_found` for an environment or an app that the project does not have
 */
export async function checkFilters(
  { kube, pool }: { kube: Pick<KubeClient, 'get'>; pool: Pool },
  project: string,
  { environment, app }: { environment?: string | undefined; app?: string | undefined },
): Promise<void> {
  if (environment === undefined && app === undefined) return;
  const history = await listProjectDeployments(pool, project, { environment, app, limit: 1 });
  if (history.length > 0) return;
  const selected = environment === undefined ? undefined : await resolveEnvironment(kube, project, environment);
  if (app === undefined) return;
  const object = await kube.get<Project>(kinds.Project, project);
  for (const { namespace } of selected ? [selected] : object ? environmentsOf(object) : []) {
    if (await kube.get(kinds.App, app, namespace)) return;
  }
  const where = `${selected ? `environment "${selected.environment}" of ` : ''}project "${project}"`;
  throw new Problem('not_found', `There is no app "${app}" in ${where}. List the apps with \`svc app list\`.`);
}
