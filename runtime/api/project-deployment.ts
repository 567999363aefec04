import type { Pool } from 'pg';
import { z } from 'zod';
import { Problem } from '../domain/problem.ts';
import type { ProjectGrant } from '../http/route.ts';
import { getDeployment, type Deployment } from '../records/deployments.ts';

/** A deployment of the project by the id in a request; undefined when it does not exist or the id is not a UUID. */
export async function lookUpDeployment(pool: Pool, project: string, id: string): Promise<Deployment | undefined> {
  const deployment = z.uuid().safeParse(id).success ? await getDeployment(pool, id) : undefined;
  return deployment?.project === project ? deployment : undefined;
}

/**
 * A deployment of the project by the id in a request. An access token of one environment finds those of no other.
 * @throws Problem `not_found`
 */
export async function findDeployment(
  pool: Pool,
  project: string,
  id: string,
  { environment }: Pick<ProjectGrant, 'environment'> = {},
): Promise<Deployment> {
  const deployment = await lookUpDeployment(pool, project, id);
  if (deployment && (environment ?? deployment.environment) === deployment.environment) return deployment;
  throw new Problem(
    'not_found',
    `The project "${project}" has no deployment with this id. List its deployments with \`svc deployment list\`.`,
  );
}
