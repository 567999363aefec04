import type { Pool } from 'pg';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { findKey, type ApiKey } from '../records/keys.ts';

/** An environment in the routes of plans and keys. */
export interface KeyEnvironment {
  environment: string;
  environmentId: Id;
  namespace: string;
}

export interface LocateKeyDependencies {
  pool: Pool;
  /**
   * The environment of a request: by name, or the project's only one.
   * @throws Problem `not_found`; `environment_required` that lists the environments
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

/** The message does not repeat the request, which may contain a whole key by mistake. */
export function keyNotFound(project: string): Problem {
  return new Problem(
    'not_found',
    `The project "${project}" has no API key with this id or handle. List its keys with \`svc key list\`.`,
  );
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
