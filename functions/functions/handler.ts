import type { Pool } from 'pg';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { functionImage, publicUrl } from '../../runtime/contracts/resources/platform-config.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { checkWorkloadName, functionHost } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { gateRoutes } from '../../runtime/host/gate-routes.ts';
import { pageOf } from '../../runtime/host/page.ts';
import { checkHostFree, readPlatformConfig } from '../../runtime/host/platform-config.ts';
import { route, sessionOf, type Route, type Session } from '../../runtime/host/route.ts';
import { newSecurity } from '../../runtime/host/security-settings.ts';
import { createWorkload, newWorkloadMetadata } from '../../runtime/host/workload-create.ts';
import { newVariables, replacedVariables } from '../../runtime/host/workload-variables.ts';
import { deleteWorkload, getLivingWorkload, getWorkload, workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { environmentsOf, resolveEnvironment, type Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { bindingRoutes } from './bindings.ts';
import { calledBy } from './called-by.ts';
import { changedSpec, changeFunction, checkHostHolder } from './change.ts';
import { checkRoute, specOf } from './check.ts';
import { checkDelivered, readEventsState, withSourceBound } from './event-source.ts';
import { eventRoutes } from './events.ts';
import { logRoutes } from './logs.ts';
import { runRoutes } from './runs.ts';
import {
  createFunctionSchema,
  deleteFunctionSchema,
  getFunctionSchema,
  listAllFunctionsSchema,
  listFunctionsSchema,
  updateFunctionSchema,
} from './schema.ts';
import { checkPods, isExclusive, isRestartPending, settingsRoutes } from './settings.ts';
import { functionToView } from './view.ts';

export interface FunctionDependencies {
  kube: KubeClient;
  pool: Pool;
  clock: Clock;
  /** The public address of the management API. */
  baseUrl: string;
  /** The projects in which a caller has any role. */
  visibleProjects: (session: Session) => Promise<Stored<Project>[]>;
}

const tag = 'functions';
const path = '/projects/:project/functions/:function';

/** `/projects/{p}/functions` and `/functions`: Function objects, whose controller does the rest. */
export function createFunctionRoutes(dependencies: FunctionDependencies): Route[] {
  const { kube, pool, clock, visibleProjects } = dependencies;
  const view = async (object: Stored<FunctionResource>, known: { url?: string } = {}) =>
    functionToView(object, { ...known, exclusive: await isExclusive(kube, object), now: clock.now() });
  const fullView = async (object: Stored<FunctionResource>) =>
    functionToView(object, {
      now: clock.now(),
      exclusive: await isExclusive(kube, object),
      pendingRestart: await isRestartPending(kube, object),
      events: await readEventsState(pool, object),
    });
  const find = (environment: Environment, name: string) =>
    getWorkload<FunctionResource>(kube, 'Function', environment, name);
  const list = async (namespace: string | undefined): Promise<Stored<FunctionResource>[]> =>
    (await kube.list<FunctionResource>(kinds.Function, namespace === undefined ? {} : { namespace })).items;

  return [
    route({
      ...createFunctionSchema,
      method: 'POST',
      path: '/projects/:project/functions',
      access: { project: 'deployer' },
      tag,
      summary:
        'Creates a function of code or of an image; it has no pods until its first request, or the first time of its schedule.',
      async handle(request) {
        const { params, query, body, log } = request;
        const { name, env, security, trigger, events, ...given } = body;
        checkWorkloadName(name);
        const variables = newVariables('Function', env ?? {});
        const settings = { security: newSecurity(security), ...(variables.length > 0 && { env: variables }) };
        const asked = specOf({ ...given, ...calledBy({ trigger, events }), ...settings });
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const spec = await withSourceBound(dependencies, environment, { name, spec: asked }, events?.database);
        await checkPods(kube, environment.namespace, spec);
        const config = await readPlatformConfig(kube);
        functionImage(config, spec);
        const host =
          spec.trigger === 'http'
            ? (spec.hostname ?? functionHost(name, config.cluster, config.appsDomain))
            : undefined;
        if (host !== undefined) checkHostFree(config, host);
        const { apiVersion, kind } = kinds.Function;
        const metadata = newWorkloadMetadata('Function', name, environment);
        const created = await createWorkload(kube, { apiVersion, kind, metadata, spec } as FunctionResource, {
          hosts: host === undefined ? [] : [host],
          environment,
        });
        log.info(
          { function: name, namespace: environment.namespace, actor: sessionOf(request).email },
          'function created',
        );
        return { status: 201, body: await view(created, host === undefined ? {} : { url: publicUrl(config, host) }) };
      },
    }),
    route({
      ...listFunctionsSchema,
      method: 'GET',
      path: '/projects/:project/functions',
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the functions of an environment by name.',
      async handle({ params, query }) {
        const { namespace } = await resolveEnvironment(kube, params.project, query.environment);
        const page = pageOf(await list(namespace), ({ metadata }) => metadata.name, query);
        return { status: 200, body: { ...page, items: await Promise.all(page.items.map((item) => view(item))) } };
      },
    }),
    route({
      ...listAllFunctionsSchema,
      method: 'GET',
      path: '/functions',
      access: 'session',
      tag,
      summary: 'Lists all functions that the caller may see; for admins of the platform also those of no project.',
      async handle(request) {
        const { query } = request;
        const session = sessionOf(request);
        const projects = await visibleProjects(session);
        const namespaces = new Set(projects.flatMap(environmentsOf).map(({ namespace }) => namespace));
        const visible = (await list(undefined)).filter(
          ({ metadata }) => session.role === 'admin' || namespaces.has(metadata.namespace ?? ''),
        );
        const page = pageOf(visible, ({ metadata }) => `${metadata.namespace}/${metadata.name}`, query);
        return { status: 200, body: { ...page, items: await Promise.all(page.items.map((item) => view(item))) } };
      },
    }),
    route({
      ...getFunctionSchema,
      method: 'GET',
      path,
      access: { project: 'viewer' },
      tag,
      summary: 'Shows a function.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const found = await find(environment, params.function);
        return { status: 200, body: await fullView(found) };
      },
    }),
    route({
      ...updateFunctionSchema,
      method: 'PATCH',
      path,
      access: { project: 'deployer' },
      tag,
      summary: 'Changes a function; its pods are replaced one by one, and a function at zero starts with the change.',
      async handle(request) {
        const { params, query, body, log } = request;
        const settings = Object.keys(body);
        if (settings.length === 0)
          throw new Problem('invalid_request', 'Give what to change, such as code or an image.');
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const config = await readPlatformConfig(kube);
        const living = () => getLivingWorkload<FunctionResource>(kube, 'Function', environment, params.function);
        const changed = await changeFunction(kube, living, async (found) => {
          const { env, ...given } = body;
          const variables = env && (await replacedVariables(kube, found, env));
          const asked = changedSpec(found.spec, { ...given, ...(variables && { env: variables }) });
          const spec =
            given.events || given.trigger
              ? await withSourceBound(
                  dependencies,
                  environment,
                  { name: params.function, id: workloadIdOf(found), spec: asked },
                  given.events?.database,
                )
              : asked;
          await checkPods(kube, environment.namespace, spec);
          functionImage(config, spec);
          if (!spec.events && !query.discardEvents) await checkDelivered(pool, found);
          if (spec.trigger !== 'http') return spec;
          const host = spec.hostname ?? functionHost(params.function, config.cluster, config.appsDomain);
          checkHostFree(config, host);
          await checkHostHolder(kube, host, found);
          return spec;
        });
        log.info(
          { function: params.function, namespace: environment.namespace, settings, actor: sessionOf(request).email },
          'function changed',
        );
        return { status: 200, body: await fullView(changed) };
      },
    }),
    route({
      ...deleteFunctionSchema,
      method: 'DELETE',
      path,
      access: { project: 'deployer' },
      tag,
      summary: 'Deletes a function and everything that was made for it; 202 while that goes on.',
      async handle(request) {
        const { params, query, log } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const found = await find(environment, params.function);
        const deleting = found.metadata.deletionTimestamp !== undefined;
        if (!deleting && !query.discardEvents) await checkDelivered(pool, found);
        const left = await deleteWorkload(kube, found);
        log.info(
          { function: params.function, namespace: environment.namespace, actor: sessionOf(request).email },
          'function deleted',
        );
        return left ? { status: 202, body: await view(left) } : { status: 204 };
      },
    }),
    ...bindingRoutes(dependencies),
    ...eventRoutes(dependencies),
    ...settingsRoutes(dependencies),
    ...runRoutes(dependencies),
    ...gateRoutes<FunctionResource>(dependencies, { kind: 'Function', checkRoute }),
    ...logRoutes(dependencies),
  ];
}
