import { environmentsMax } from '../../runtime/contracts/api/projects.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { checkEnvironmentName, checkProjectName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { pageOf } from '../../runtime/host/page.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  createEnvironmentSchema,
  createProjectSchema,
  deleteProjectSchema,
  getProjectSchema,
  listEnvironmentsSchema,
  listProjectsSchema,
} from './schema.ts';
import { addEnvironment, checkNamespaceFree, createProject, getProject } from './store.ts';
import { environmentViews, projectToView } from './view.ts';

const tag = 'projects';
const access = 'session';

/** `/projects` and their environments: cluster-scoped objects; the Project controller makes the namespaces. */
export function createProjectRoutes({ kube }: { kube: KubeClient }): Route[] {
  return [
    route({
      ...createProjectSchema,
      method: 'POST',
      path: '/projects',
      access,
      tag,
      summary: 'Creates a project with its environments; each becomes a namespace.',
      async handle(request) {
        const { name, displayName, environments } = request.body;
        checkProjectName(name);
        for (const environment of environments) checkEnvironmentName(environment, 'environments');
        if (new Set(environments).size < environments.length) {
          throw new Problem('invalid_value', 'An environment is named twice.', { details: { field: 'environments' } });
        }
        const held = await kube.get<Project>(kinds.Project, name);
        // A project's own namespaces exist too: the clearer refusal comes first.
        if (!held) for (const environment of environments) await checkNamespaceFree(kube, name, environment);
        const project = await createProject(kube, name, {
          ...(displayName !== undefined && { displayName }),
          environments: environments.map((environment) => ({ name: environment, id: newId() })),
        });
        request.log.info({ project: name, environments, actor: sessionOf(request).email }, 'project created');
        return { status: 201, body: projectToView(project) };
      },
    }),
    route({
      ...listProjectsSchema,
      method: 'GET',
      path: '/projects',
      access,
      tag,
      summary: 'Lists the projects by name.',
      async handle({ query }) {
        const { items } = await kube.list<Project>(kinds.Project);
        const page = pageOf(items, ({ metadata }) => metadata.name, query);
        return { status: 200, body: { ...page, items: page.items.map(projectToView) } };
      },
    }),
    route({
      ...getProjectSchema,
      method: 'GET',
      path: '/projects/:project',
      access,
      tag,
      summary: 'Shows a project.',
      handle: async ({ params }) => ({ status: 200, body: projectToView(await getProject(kube, params.project)) }),
    }),
    route({
      ...deleteProjectSchema,
      method: 'DELETE',
      path: '/projects/:project',
      access,
      tag,
      summary: 'Deletes a project with everything in its environments; 202 while that goes on.',
      async handle(request) {
        const { metadata } = await getProject(kube, request.params.project);
        const { apiVersion, kind } = kinds.Project;
        // Its controller's finalizer keeps it visible as `deleting` until its namespaces are gone.
        await kube.delete({ apiVersion, kind, name: metadata.name }, { preconditions: { uid: metadata.uid } });
        request.log.info({ project: metadata.name, actor: sessionOf(request).email }, 'project deleted');
        const left = await kube.get<Project>(kinds.Project, metadata.name);
        return left?.metadata.uid === metadata.uid ? { status: 202, body: projectToView(left) } : { status: 204 };
      },
    }),
    route({
      ...createEnvironmentSchema,
      method: 'POST',
      path: '/projects/:project/environments',
      access,
      tag,
      summary: 'Adds an environment to a project.',
      async handle(request) {
        const { name } = request.body;
        checkEnvironmentName(name, 'name');
        const known = await getProject(kube, request.params.project);
        if (known.spec.environments.every((environment) => environment.name !== name)) {
          await checkNamespaceFree(kube, known.metadata.name, name);
        }
        const project = await addEnvironment(kube, known.metadata.name, { name, id: newId() }, environmentsMax);
        request.log.info(
          { project: project.metadata.name, environment: name, actor: sessionOf(request).email },
          'environment created',
        );
        return { status: 201, body: environmentViews(project).find((environment) => environment.name === name) };
      },
    }),
    route({
      ...listEnvironmentsSchema,
      method: 'GET',
      path: '/projects/:project/environments',
      access,
      tag,
      summary: 'Lists the environments of a project.',
      handle: async ({ params }) => ({
        status: 200,
        body: { items: environmentViews(await getProject(kube, params.project)) },
      }),
    }),
  ];
}
