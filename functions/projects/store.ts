import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { EnvironmentSpec, Project, ProjectSpec } from '../../runtime/contracts/resources/project.ts';
import { idLabel, managedLabels, workloadFinalizer } from '../../runtime/domain/labels.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { namespaceOf } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/** Attempts before a change fails because of concurrent changes. */
const maxAttempts = 5;

/** The project. @throws Problem `not_found` */
export async function getProject(kube: Pick<KubeClient, 'get'>, name: string): Promise<Stored<Project>> {
  const project = await kube.get<Project>(kinds.Project, name);
  if (!project)
    throw new Problem('not_found', `There is no project "${name}". List the projects with \`svc project list\`.`);
  return project;
}

/** @throws Problem `already_exists`, or `not_ready` while one of this name is being deleted */
export async function createProject(
  kube: KubeClient,
  { id, name, spec }: { id: Id; name: string; spec: ProjectSpec },
): Promise<Stored<Project>> {
  const { apiVersion, kind } = kinds.Project;
  const labels = { ...managedLabels(), [idLabel]: id };
  const project = { apiVersion, kind, metadata: { name, labels, finalizers: [workloadFinalizer] }, spec } as Project;
  try {
    return await kube.create(project);
  } catch (error) {
    if (!isKubeError(error, 409)) throw error;
    const existing = await kube.get<Project>(kinds.Project, name);
    throw existing?.metadata.deletionTimestamp === undefined
      ? new Problem('already_exists', `There is already a project "${name}". Choose another name.`)
      : new Problem('not_ready', `The project "${name}" is being deleted. Try again in a moment.`);
  }
}

/**
 * Adds an environment. @throws Problem `not_found`, `not_ready` while the project or one of this name is being deleted,
 * `already_exists`, and `conflict` after repeated concurrent changes
 */
export async function addEnvironment(
  kube: KubeClient,
  projectName: string,
  environment: EnvironmentSpec,
  max: number,
): Promise<Stored<Project>> {
  return changeEnvironments(kube, projectName, (environments) => {
    const current = environments.find(({ name }) => name === environment.name);
    if (current?.deleting) throw deletionInProgress(projectName, environment.name);
    if (current) {
      throw new Problem(
        'already_exists',
        `The project "${projectName}" already has an environment "${environment.name}".`,
      );
    }
    if (environments.length >= max) {
      throw new Problem('invalid_value', `The project has the maximum of ${max} environments.`, {
        details: { field: 'name' },
      });
    }
    return [...environments, environment];
  });
}

/**
 * Changes one environment. @throws Problem `not_found`, `not_ready` while it or the project is being deleted, and
 * `conflict` after repeated concurrent changes
 */
export async function changeEnvironment(
  kube: KubeClient,
  projectName: string,
  environmentName: string,
  change: (environment: EnvironmentSpec) => EnvironmentSpec,
): Promise<Stored<Project>> {
  return changeEnvironments(kube, projectName, (environments) => {
    const current = environments.find(({ name }) => name === environmentName);
    if (!current) {
      const names = environments.map(({ name }) => name).join(', ');
      throw new Problem(
        'not_found',
        `The project "${projectName}" has no environment "${environmentName}". It has ${names || 'none'}.`,
      );
    }
    const changed = change(current);
    if (current.deleting && changed !== current) throw deletionInProgress(projectName, environmentName);
    return environments.map((environment) => (environment === current ? changed : environment));
  });
}

function deletionInProgress(project: string, environment: string): Problem {
  return new Problem(
    'not_ready',
    `The environment "${environment}" of the project "${project}" is being deleted. Try again in a moment.`,
  );
}

async function changeEnvironments(
  kube: KubeClient,
  projectName: string,
  change: (environments: EnvironmentSpec[]) => EnvironmentSpec[],
): Promise<Stored<Project>> {
  const { apiVersion, kind } = kinds.Project;
  for (let attempt = 1; ; attempt++) {
    const { metadata, spec } = await getProject(kube, projectName);
    if (metadata.deletionTimestamp !== undefined) {
      throw new Problem('not_ready', `The project "${projectName}" is being deleted.`);
    }
    const environments = change(spec.environments);
    try {
      // A merge patch replaces a list as a whole, so it needs the version that was read.
      return await kube.mergePatch<Project>(
        { apiVersion, kind, name: projectName },
        { metadata: { resourceVersion: metadata.resourceVersion }, spec: { environments } },
      );
    } catch (error) {
      if (!isKubeError(error, 409) || attempt === maxAttempts) throw error;
    }
  }
}

/**
 * Checks that an environment's namespace does not exist: the platform creates namespaces and never adopts one (decision
 * 0001). The Project controller checks again; this check gives the user an immediate response.
 * @throws Problem `namespace_taken`, or `invalid_value` for a reserved one
 */
export async function checkNamespaceFree(kube: KubeClient, project: string, environment: string): Promise<void> {
  const name = namespaceOf(project, environment);
  const namespace = await kube.get(kinds.Namespace, name);
  if (!namespace) return;
  throw namespace.metadata.deletionTimestamp === undefined
    ? new Problem('namespace_taken', `The namespace "${name}" already exists. Choose another name.`, {
        details: { namespace: name },
      })
    : new Problem('not_ready', `The namespace "${name}" is being deleted. Try again in a moment.`);
}
