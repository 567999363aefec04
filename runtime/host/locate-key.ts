import type { Pool } from 'pg';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { findKey, type ApiKey } from '../records/keys.ts';

/** What the routes of plans and keys know of an environment. */
export interface KeyEnvironment {
  environment: string;
  environmentId: Id;
  namespace: string;
}

export interface LocateKeyDependencies {
  pool: Pool;
  /**
   * One environment of a project: the named one, else its only one.
   * @throws Problem `not_found`; `environment_required` that names them
   */
  resolveEnvironment: (project: string, environment?: string) => Promise<KeyEnvironment>;
  /** All environments of a project. @throws Problem `not_found` */
  projectEnvironments: (project: string) => Promise<readonly KeyEnvironment[]>;
}

export interface LocatedKey {
  record: ApiKey;
  environment: KeyEnvironment;
}

/** Finds a key by id or handle, anywhere in the project unless an environment is named. @throws Problem `not_found` */
export type LocateKey = (project: string, idOrHandle: string, environment?: string) => Promise<LocatedKey>;

/** What was asked for may be a whole key, pasted by mistake: it is not repeated. */
export function keyNotFound(project: string): Problem {
  return new Problem('not_found', `The project "${project}" has no API key of this id or handle; list its keys.`);
}

export function createLocateKey({ pool, resolveEnvironment, projectEnvironments }: LocateKeyDependencies): LocateKey {
  return async (project, idOrHandle, name) => {
    const environments =
      name === undefined ? await projectEnvironments(project) : [await resolveEnvironment(project, name)];
    const ids = environments.map(({ environmentId }) => environmentId);
    const record = await findKey(pool, ids, idOrHandle);
    const environment = environments.find(({ environmentId }) => environmentId === record?.environmentId);
    if (!record || !environment) throw keyNotFound(project);
    return { record, environment };
  };
}
