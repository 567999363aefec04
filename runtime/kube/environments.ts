import type { Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Project } from '../contracts/resources/project.ts';
import type { Id } from '../domain/ids.ts';
import { namespaceOf } from '../domain/names.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from './kube-client.ts';

/** One environment of a project (spec.md §1). */
export interface Environment {
  project: string;
  environment: string;
  environmentId: Id;
  namespace: string;
  /** Whether its namespace is there and ours: only then anything can be created in it. */
  ready: boolean;
  /** Why it is not ready. */
  message?: string;
}

/**
 * The environment that a request means: the named one, or the project's only one.
 * @throws Problem `not_found` for a project or environment that is not there, `environment_required` when the project
 * has several and none was named; both name what there is
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
  const found = environments.find(({ environment }) => environment === environmentName);
  if (found) return found;
  throw new Problem('not_found', `The project "${projectName}" has no environment "${environmentName}"; ${listed}.`, {
    details: { environments: names },
  });
}

/** Every environment of every project. */
export async function listEnvironments(kube: Pick<KubeClient, 'list'>): Promise<Environment[]> {
  const { items } = await kube.list<Project>(kinds.Project);
  return items.flatMap(environmentsOf);
}

/** The environments of one project, in the order of its spec. */
export function environmentsOf({ metadata, spec, status }: Stored<Project>): Environment[] {
  return spec.environments.map(({ name, id, deleting: going = false }) => {
    const observed = status?.environments?.find((environment) => environment.id === id);
    const deleting = going || metadata.deletionTimestamp !== undefined;
    const what = going ? 'it' : `the project "${metadata.name}"`;
    const message = deleting ? `${what} is being deleted` : observed?.message;
    return {
      project: metadata.name,
      environment: name,
      environmentId: id,
      namespace: namespaceOf(metadata.name, name),
      ready: !deleting && (observed?.ready ?? false),
      ...(message !== undefined && { message }),
    };
  });
}
