import type { Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { EnvironmentLimits, Project } from '../contracts/resources/project.ts';
import type { Id } from '../domain/ids.ts';
import { namespaceOf } from '../domain/names.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from './kube-client.ts';

/** One environment of a project (docs/reference/api.md#environments). */
export interface Environment {
  project: string;
  environment: string;
  environmentId: Id;
  namespace: string;
  /** Whether its namespace exists and belongs to the platform, so that objects can be created in it. */
  ready: boolean;
  /** Why it is not ready. */
  message?: string;
  /** Its own limits; those that are absent are the installation's. */
  limits?: EnvironmentLimits;
}

/**
 * Finds the named environment of a project, or its only one.
 * @throws Problem `not_found` for a missing project or environment, `environment_required` without a name in a project
 * with several; the messages list the existing ones
 */
export async function resolveEnvironment(
  kube: Pick<KubeClient, 'get'>,
  projectName: string,
  environmentName?: string,
): Promise<Environment> {
  const project = await kube.get<Project>(kinds.Project, projectName);
  if (!project) {
    throw new Problem('not_found', `There is no project "${projectName}"; list them with \`svc project list\`.`);
  }
  const environments = environmentsOf(project);
  const names = environments.map(({ environment }) => environment);
  const listed = names.length > 0 ? `it has ${names.join(', ')}` : 'it has none';
  if (environmentName === undefined) {
    const [only, ...others] = environments;
    if (only && others.length === 0) return only;
    throw new Problem('environment_required', `Name an environment of the project "${projectName}": ${listed}.`, {
      details: { environments: names },
    });
  }
  const match = environments.find(({ environment }) => environment === environmentName);
  if (match) return match;
  throw new Problem('not_found', `The project "${projectName}" has no environment "${environmentName}"; ${listed}.`, {
    details: { environments: names },
  });
}

/** The environments of one project, in the order of its spec. */
export function environmentsOf({ metadata, spec, status }: Stored<Project>): Environment[] {
  return spec.environments.map(({ name, id, limits, deleting: marked = false }) => {
    const observed = status?.environments?.find((environment) => environment.id === id);
    const deleting = marked || metadata.deletionTimestamp !== undefined;
    const subject = marked ? 'it' : `the project "${metadata.name}"`;
    const message = deleting ? `${subject} is being deleted` : observed?.message;
    return {
      project: metadata.name,
      environment: name,
      environmentId: id,
      namespace: namespaceOf(metadata.name, name),
      ready: !deleting && (observed?.ready ?? false),
      ...(message !== undefined && { message }),
      ...(limits && { limits }),
    };
  });
}
