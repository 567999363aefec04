import type { EnvironmentView, ProjectView } from '../../runtime/contracts/api/projects.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { effectiveLimits, type EnvironmentLimits, type Project } from '../../runtime/contracts/resources/project.ts';
import { namespaceOf } from '../../runtime/domain/names.ts';

/**
 * The environments of a project. One that the controller has not observed yet is not ready.
 * @param defaults the installation's limits of environments that set none
 */
export function environmentViews(
  { metadata, spec, status }: Project,
  defaults: EnvironmentLimits | undefined,
): EnvironmentView[] {
  return spec.environments.map(({ name, id, limits, deleting = false }) => {
    // By id, because a deleted environment may have had the same name.
    const observed = status?.environments?.find((environment) => environment.id === id);
    return {
      name,
      namespace: namespaceOf(metadata.name, name),
      ready: !deleting && (observed?.ready ?? false),
      ...(deleting && { deleting }),
      ...(observed?.message !== undefined && { message: observed.message }),
      limits: effectiveLimits(limits, defaults),
      ownLimits: limits ?? {},
    };
  });
}

/** A project as the API shows it. */
export function projectToView(project: Stored<Project>, defaults: EnvironmentLimits | undefined): ProjectView {
  const { metadata, spec, status } = project;
  return {
    name: metadata.name,
    ...(spec.displayName !== undefined && { displayName: spec.displayName }),
    status: metadata.deletionTimestamp === undefined ? (status?.phase ?? 'creating') : 'deleting',
    environments: environmentViews(project, defaults),
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}
