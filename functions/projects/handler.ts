import { environmentsMax, type EnvironmentView } from '../../runtime/contracts/api/projects.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { defaultProjectsPerUser } from '../../runtime/contracts/resources/platform-config.ts';
import {
  effectiveLimits,
  limitCeilings,
  type EnvironmentLimits,
  type Project,
} from '../../runtime/contracts/resources/project.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { checkEnvironmentName, checkProjectName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { readerFor, versionHeader } from '../../runtime/api/reader.ts';
import { pageOf } from '../../runtime/http/page.ts';
import { readDefaultLimits, readSettingsIfAny } from '../../runtime/workloads/platform-config.ts';
import { route, sessionOf, type ProjectGrant, type Route, type Session } from '../../runtime/http/route.ts';
import type { KubeClient, ObjectList } from '../../runtime/kube/kube-client.ts';
import {
  createEnvironmentSchema,
  createProjectSchema,
  deleteEnvironmentSchema,
  deleteProjectSchema,
  getProjectSchema,
  listEnvironmentsSchema,
  listProjectsSchema,
  updateEnvironmentSchema,
} from './schema.ts';
import { changedLimits, checkCeilings, checkLimits } from './limits.ts';
import { addEnvironment, changeEnvironment, checkNamespaceFree, createProject, getProject } from './store.ts';
import { environmentViews, projectToView } from './view.ts';

const tag = 'projects';

export interface ProjectDependencies {
  kube: KubeClient;
  /** The projects in which a user has a role. */
  visibleProjects: (session: Session) => Promise<ObjectList<Project>>;
  members: {
    /** Makes a user the admin of a project before it is created. */
    insertFounder(projectId: Id, userId: Id): Promise<void>;
    /**
     * Records who creates a project, before its role. @throws Problem `too_many_projects` when the user has created `max`
     */
    countFounder(projectId: Id, userId: Id, max: number): Promise<void>;
    /** Deletes all roles in a project. */
    forget(projectId: Id): Promise<void>;
  };
}

/** `/projects` and their environments: cluster-scoped objects; the Project controller makes the namespaces. */
export function createProjectRoutes({ kube, visibleProjects, members }: ProjectDependencies): Route[] {
  return [
    route({
      ...createProjectSchema,
      method: 'POST',
      path: '/projects',
      access: 'session',
      tag,
      summary: 'Creates a project with its environments. Each environment is a namespace.',
      audit: 'project.create',
      async handle(request) {
        const { name, displayName, environments } = request.body;
        checkProjectName(name);
        for (const environment of environments) checkEnvironmentName(environment, 'environments');
        if (new Set(environments).size < environments.length) {
          throw new Problem('invalid_value', 'The list contains an environment twice.', {
            details: { field: 'environments' },
          });
        }
        const settings = await readSettingsIfAny(kube);
        const defaults = settings?.defaultLimits;
        const existing = await kube.get<Project>(kinds.Project, name);
        // An existing project is reported as such, not by its namespaces.
        if (!existing) for (const environment of environments) await checkNamespaceFree(kube, name, environment);
        const id = newId();
        // The role is written first: it has no effect before the project exists, and a project must have an admin.
        const { userId, role } = sessionOf(request);
        const max = role === 'admin' ? Infinity : (settings?.projectsPerUser ?? defaultProjectsPerUser);
        await members.countFounder(id, userId, max);
        await members.insertFounder(id, userId);
        const spec = {
          ...(displayName !== undefined && { displayName }),
          environments: environments.map((environment) => ({ name: environment, id: newId() })),
        };
        const project = await createProject(kube, { id, name, spec }).catch(async (error: unknown) => {
          // After any other error, the project may exist.
          if (error instanceof Problem) await members.forget(id);
          throw error;
        });
        const audit = { project: name, projectId: id, environments };
        return { status: 201, body: projectToView(project, defaults), audit };
      },
    }),
    route({
      ...listProjectsSchema,
      method: 'GET',
      path: '/projects',
      access: 'session',
      tag,
      summary: 'Lists your projects by name. Platform admins see all projects.',
      async handle(request) {
        const { query } = request;
        const session = sessionOf(request);
        const { items, resourceVersion } = await visibleProjects(session);
        const defaults = await readDefaultLimits(readerFor(kube, session));
        const page = pageOf(items, ({ metadata }) => metadata.name, query);
        return {
          status: 200,
          headers: versionHeader(resourceVersion),
          body: { ...page, items: page.items.map((item) => projectToView(item, defaults)) },
        };
      },
    }),
    route({
      ...getProjectSchema,
      method: 'GET',
      path: '/projects/:project',
      access: { project: 'viewer', scope: 'read', environment: 'handler' },
      tag,
      summary: 'Shows a project.',
      async handle({ params, grant, session }) {
        const reader = readerFor(kube, session);
        const view = projectToView(await getProject(reader, params.project), await readDefaultLimits(reader));
        const environments = visibleEnvironments(view.environments, grant);
        return { status: 200, body: { ...view, environments, ...(grant && { role: grant.role }) } };
      },
    }),
    route({
      ...deleteProjectSchema,
      method: 'DELETE',
      path: '/projects/:project',
      access: { project: 'admin' },
      tag,
      summary: 'Deletes a project and everything in its environments. 202 while the deletion is in progress.',
      audit: 'project.delete',
      async handle(request) {
        const defaults = await readDefaultLimits(kube);
        const { metadata } = await getProject(kube, request.params.project);
        const { apiVersion, kind } = kinds.Project;
        // The controller's finalizer keeps it as `deleting` until its namespaces are deleted.
        await kube.delete({ apiVersion, kind, name: metadata.name }, { preconditions: { uid: metadata.uid } });
        const remaining = await kube.get<Project>(kinds.Project, metadata.name);
        if (remaining?.metadata.uid !== metadata.uid) return { status: 204 };
        return { status: 202, body: projectToView(remaining, defaults) };
      },
    }),
    route({
      ...createEnvironmentSchema,
      method: 'POST',
      path: '/projects/:project/environments',
      access: { project: 'admin' },
      tag,
      summary: 'Adds an environment to a project.',
      audit: 'environment.create',
      async handle(request) {
        const { name, limits } = request.body;
        checkEnvironmentName(name, 'name');
        checkLimits(limits);
        const settings = await readSettingsIfAny(kube);
        const defaults = settings?.defaultLimits;
        if (sessionOf(request).role !== 'admin') {
          checkCeilings(limits, {
            defaults: effectiveLimits(undefined, defaults),
            ceilings: limitCeilings(settings?.maxLimits),
          });
        }
        const current = await getProject(kube, request.params.project);
        if (current.spec.environments.every((environment) => environment.name !== name)) {
          await checkNamespaceFree(kube, current.metadata.name, name);
        }
        const environment = { name, id: newId(), ...(limits && { limits }) };
        const project = await addEnvironment(kube, current.metadata.name, environment, environmentsMax);
        return { status: 201, body: viewOf(project, name, defaults), audit: { environment: name } };
      },
    }),
    route({
      ...updateEnvironmentSchema,
      method: 'PATCH',
      path: '/projects/:project/environments/:environment',
      access: { project: 'admin' },
      tag,
      summary: 'Changes the resource limits of an environment.',
      audit: 'environment.update',
      async handle(request) {
        const { params, body } = request;
        checkLimits(body.limits);
        const settings = await readSettingsIfAny(kube);
        const defaults = settings?.defaultLimits;
        const admin = sessionOf(request).role === 'admin';
        const ceilings = limitCeilings(settings?.maxLimits);
        const project = await changeEnvironment(kube, params.project, params.environment, (environment) => {
          const { limits: current } = environment;
          if (!admin) checkCeilings(body.limits, { current, defaults: effectiveLimits(undefined, defaults), ceilings });
          return changedLimits(environment, body.limits);
        });
        const view = viewOf(project, params.environment, defaults);
        return { status: 200, body: view, audit: { limits: body.limits } };
      },
    }),
    route({
      ...deleteEnvironmentSchema,
      method: 'DELETE',
      path: '/projects/:project/environments/:environment',
      access: { project: 'admin' },
      tag,
      summary: 'Deletes an environment and everything in it. 202 while the deletion is in progress.',
      audit: 'environment.delete',
      async handle(request) {
        const { params } = request;
        const defaults = await readDefaultLimits(kube);
        // Its entry stays as `deleting` until its namespace and records are deleted.
        const project = await changeEnvironment(kube, params.project, params.environment, (environment) =>
          environment.deleting ? environment : { ...environment, deleting: true },
        );
        return { status: 202, body: viewOf(project, params.environment, defaults) };
      },
    }),
    route({
      ...listEnvironmentsSchema,
      method: 'GET',
      path: '/projects/:project/environments',
      access: { project: 'viewer', scope: 'read', environment: 'handler' },
      tag,
      summary: 'Lists the environments of a project.',
      async handle({ params, grant, session }) {
        const reader = readerFor(kube, session);
        const project = await getProject(reader, params.project);
        const views = environmentViews(project, await readDefaultLimits(reader));
        return { status: 200, body: { items: visibleEnvironments(views, grant) } };
      },
    }),
  ];
}

/** An access token of one environment sees only this one. */
function visibleEnvironments(
  views: EnvironmentView[],
  { environment }: Pick<ProjectGrant, 'environment'> = {},
): EnvironmentView[] {
  return environment === undefined ? views : views.filter(({ name }) => name === environment);
}

function viewOf(project: Stored<Project>, name: string, defaults: EnvironmentLimits | undefined): EnvironmentView {
  const view = environmentViews(project, defaults).find((environment) => environment.name === name);
  if (!view) throw new Error(`the project "${project.metadata.name}" lost its environment "${name}"`);
  return view;
}
