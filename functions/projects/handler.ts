import { environmentsMax, type EnvironmentView } from '../../runtime/contracts/api/projects.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { EnvironmentLimits, Project } from '../../runtime/contracts/resources/project.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { checkEnvironmentName, checkProjectName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { pageOf } from '../../runtime/host/page.ts';
import { readDefaultLimits } from '../../runtime/host/platform-config.ts';
import { route, sessionOf, type Route, type Session } from '../../runtime/host/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
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
import { changedLimits, checkLimits } from './limits.ts';
import { addEnvironment, changeEnvironment, checkNamespaceFree, createProject, getProject } from './store.ts';
import { environmentViews, projectToView } from './view.ts';

const tag = 'projects';

export interface ProjectDependencies {
  kube: KubeClient;
  /** The projects in which a caller has any role. */
  visibleProjects: (session: Session) => Promise<Stored<Project>[]>;
  members: {
    /** Makes a person the admin of a project that is about to be created. */
    found(projectId: Id, userId: Id): Promise<void>;
    /** Forgets everybody's role in a project. */
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
      summary: 'Creates a project with its environments; each becomes a namespace.',
      async handle(request) {
        const { name, displayName, environments } = request.body;
        checkProjectName(name);
        for (const environment of environments) checkEnvironmentName(environment, 'environments');
        if (new Set(environments).size < environments.length) {
          throw new Problem('invalid_value', 'An environment is named twice.', { details: { field: 'environments' } });
        }
        const defaults = await readDefaultLimits(kube);
        const held = await kube.get<Project>(kinds.Project, name);
        // A project's own namespaces exist too: the clearer refusal comes first.
        if (!held) for (const environment of environments) await checkNamespaceFree(kube, name, environment);
        const id = newId();
        // The role first: it opens nothing before there is a project of this identity, and one that nobody administers
        // must not be.
        await members.found(id, sessionOf(request).userId);
        const spec = {
          ...(displayName !== undefined && { displayName }),
          environments: environments.map((environment) => ({ name: environment, id: newId() })),
        };
        const project = await createProject(kube, { id, name, spec }).catch(async (error: unknown) => {
          // Refused for sure; whatever else failed, the object may be there.
          if (error instanceof Problem) await members.forget(id);
          throw error;
        });
        request.log.info({ project: name, environments, actor: sessionOf(request).email }, 'project created');
        return { status: 201, body: projectToView(project, defaults) };
      },
    }),
    route({
      ...listProjectsSchema,
      method: 'GET',
      path: '/projects',
      access: 'session',
      tag,
      summary: 'Lists the projects that the caller may see, by name.',
      async handle(request) {
        const { query } = request;
        const items = await visibleProjects(sessionOf(request));
        const defaults = await readDefaultLimits(kube);
        const page = pageOf(items, ({ metadata }) => metadata.name, query);
        return { status: 200, body: { ...page, items: page.items.map((item) => projectToView(item, defaults)) } };
      },
    }),
    route({
      ...getProjectSchema,
      method: 'GET',
      path: '/projects/:project',
      access: { project: 'viewer' },
      tag,
      summary: 'Shows a project.',
      async handle({ params }) {
        const project = await getProject(kube, params.project);
        return { status: 200, body: projectToView(project, await readDefaultLimits(kube)) };
      },
    }),
    route({
      ...deleteProjectSchema,
      method: 'DELETE',
      path: '/projects/:project',
      access: { project: 'admin' },
      tag,
      summary: 'Deletes a project with everything in its environments; 202 while that goes on.',
      async handle(request) {
        const defaults = await readDefaultLimits(kube);
        const { metadata } = await getProject(kube, request.params.project);
        const { apiVersion, kind } = kinds.Project;
        // Its controller's finalizer keeps it visible as `deleting` until its namespaces are gone.
        await kube.delete({ apiVersion, kind, name: metadata.name }, { preconditions: { uid: metadata.uid } });
        request.log.info({ project: metadata.name, actor: sessionOf(request).email }, 'project deleted');
        const left = await kube.get<Project>(kinds.Project, metadata.name);
        if (left?.metadata.uid !== metadata.uid) return { status: 204 };
        return { status: 202, body: projectToView(left, defaults) };
      },
    }),
    route({
      ...createEnvironmentSchema,
      method: 'POST',
      path: '/projects/:project/environments',
      access: { project: 'admin' },
      tag,
      summary: 'Adds an environment to a project.',
      async handle(request) {
        const { name, limits } = request.body;
        checkEnvironmentName(name, 'name');
        checkLimits(limits);
        const defaults = await readDefaultLimits(kube);
        const known = await getProject(kube, request.params.project);
        if (known.spec.environments.every((environment) => environment.name !== name)) {
          await checkNamespaceFree(kube, known.metadata.name, name);
        }
        const environment = { name, id: newId(), ...(limits && { limits }) };
        const project = await addEnvironment(kube, known.metadata.name, environment, environmentsMax);
        request.log.info(
          { project: project.metadata.name, environment: name, actor: sessionOf(request).email },
          'environment created',
        );
        return { status: 201, body: viewOf(project, name, defaults) };
      },
    }),
    route({
      ...updateEnvironmentSchema,
      method: 'PATCH',
      path: '/projects/:project/environments/:environment',
      access: { project: 'admin' },
      tag,
      summary: 'Changes what an environment may use.',
      async handle(request) {
        const { params, body, log } = request;
        checkLimits(body.limits);
        const defaults = await readDefaultLimits(kube);
        const project = await changeEnvironment(kube, params.project, params.environment, (environment) =>
          changedLimits(environment, body.limits),
        );
        log.info({ ...params, limits: body.limits, actor: sessionOf(request).email }, 'environment changed');
        return { status: 200, body: viewOf(project, params.environment, defaults) };
      },
    }),
    route({
      ...deleteEnvironmentSchema,
      method: 'DELETE',
      path: '/projects/:project/environments/:environment',
      access: { project: 'admin' },
      tag,
      summary: 'Deletes an environment with everything in it; 202 while that goes on.',
      async handle(request) {
        const { params, log } = request;
        const defaults = await readDefaultLimits(kube);
        // Its entry stays as `deleting` until its namespace and records are gone.
        const project = await changeEnvironment(kube, params.project, params.environment, (environment) =>
          environment.deleting ? environment : { ...environment, deleting: true },
        );
        log.info({ ...params, actor: sessionOf(request).email }, 'environment deleted');
        return { status: 202, body: viewOf(project, params.environment, defaults) };
      },
    }),
    route({
      ...listEnvironmentsSchema,
      method: 'GET',
      path: '/projects/:project/environments',
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the environments of a project.',
      async handle({ params }) {
        const project = await getProject(kube, params.project);
        return { status: 200, body: { items: environmentViews(project, await readDefaultLimits(kube)) } };
      },
    }),
  ];
}

function viewOf(project: Stored<Project>, name: string, defaults: EnvironmentLimits | undefined): EnvironmentView {
  const view = environmentViews(project, defaults).find((environment) => environment.name === name);
  if (!view) throw new Error(`the project "${project.metadata.name}" lost its environment "${name}"`);
  return view;
}
