import type { Pool } from 'pg';
import { z } from 'zod';
import { Problem } from '../domain/problem.ts';
import { getDeployment, type Deployment } from '../records/deployments.ts';

/** A deployment of an app of this project, by its id as a request names it; undefined when there is none. */
export async function lookUpDeployment(pool: Pool, project: string, id: string): Promise<Deployment | undefined> {
  const found = z.uuid().safeParse(id).success ? await getDeployment(pool, id) : undefined;
  return found?.project === project ? found : undefined;
}

/** A deployment of an app of this project, by its id as a request names it. @throws Problem `not_found` */
export async function findDeployment(pool: Pool, project: string, id: string): Promise<Deployment> {
  const found = await lookUpDeployment(pool, project, id);
  if (found) return found;
  throw new Problem(
    'not_found',
    `The project "${project}" has no deployment of this id; list them with \`svc deployment list\`.`,
  );
}
