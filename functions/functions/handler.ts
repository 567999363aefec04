import { environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';
import {
  discardQuery,
  functionCreate,
  functionRunView,
  functionUpdate,
  functionView,
} from '../../runtime/contracts/api/functions.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { functionImage, publicUrl } from '../../runtime/contracts/resources/platform-config.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { functionLabels, testRunName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { bindingRoutes } from '../../runtime/api/binding-routes.ts';
import { checkUsableImage } from '../../runtime/api/image.ts';
import { gateRoutes } from '../../runtime/api/gate-routes.ts';
import { logRoute } from '../../runtime/api/log-routes.ts';
import { newEnvironment } from '../../runtime/api/new-environment.ts';
import { objectRoutes, type ObjectRoutes } from '../../runtime/api/object-routes.ts';
import { podsRoute } from '../../runtime/api/pod-routes.ts';
import { readerFor, versionHeader } from '../../runtime/api/reader.ts';
import { runRoutes } from '../../runtime/api/run-routes.ts';
import { newSecurity } from '../../runtime/api/security-settings.ts';
import { replacedVariables } from '../../runtime/api/workload-variables.ts';
import { largeBodyLimit } from '../../runtime/http/body.ts';
import { pageOf } from '../../runtime/http/page.ts';
import { requireScope, route, sessionOf, type Route } from '../../runtime/http/route.ts';
import { environmentsOf } from '../../runtime/kube/environments.ts';
import type { ObjectReader } from '../../runtime/kube/kube-client.ts';
import { isIn, workloadIdOf } from '../../runtime/workloads/objects.ts';
import { admitHosts } from '../../runtime/workloads/host-admission.ts';
import { readPlatformConfig } from '../../runtime/workloads/platform-config.ts';
import { changedSpec, changeFunction, checkHostHolder } from './change.ts';
import { checkCron, checkRoute, specOf } from './check.ts';
import { checkDelivered, checkNoEventSource, readEventsState, withSourceBound } from './event-source.ts';
import type { FunctionDependencies } from './dependencies.ts';
import { eventRoutes } from './events.ts';
import { withHost } from './host.ts';
import { checkFits, checkPods, isExclusive, isRestartPending, settingsRoutes } from './settings.ts';
import { triggerOf } from './trigger.ts';
import { functionRuns, functionToView } from './view.ts';

/** `/projects/{project}/functions` and `/functions`: Function objects, which the Function controller reconciles. */
export function createFunctionRoutes(dependencies: FunctionDependencies): Route[] {
  const { kube, pool, clock, resolveTxt, logs } = dependencies;
  const functions = objectRoutes<FunctionResource>(kube, 'Function');
  const listView =
    (reader: ObjectReader) =>
    async (object: Stored<FunctionResource>, options: { url?: string } = {}) =>
      functionToView(object, { ...options, exclusive: await isExclusive(reader, object), now: clock.now() });
  const fullView = async (object: Stored<FunctionResource>, _environment?: unknown, reader: ObjectReader = kube) =>
    functionToView(object, {
      now: clock.now(),
      exclusive: await isExclusive(reader, object),
      pendingRestart: await isRestartPending(kube, object),
      events: await readEventsState(pool, object),
    });

  return [
    ...functions.collection({
      view: functionView,
      viewer: (_environment, _objects, reader) => listView(reader),
      create: {
        summary: 'Creates a function from code or an image. It has no pods until its first request or scheduled run.',
        body: functionCreate,
        bodyLimit: largeBodyLimit,
        async prepare({ body, environment }) {
          const { name, env, secrets, bindings, security, trigger, events, ...settings } = body;
          const own = { name, env, secrets, bindings };
          const resolved = await newEnvironment<FunctionResource>(dependencies, 'Function', environment, own);
          const requested = specOf({
            ...settings,
            ...triggerOf({ trigger, events }),
            security: newSecurity(security),
            ...resolved.spec,
          });
          const spec = await withSourceBound(dependencies, environment, { name, spec: requested }, events?.database);
          await checkPods(kube, environment.namespace, spec);
          await checkFits(kube, environment, spec);
          const config = await readPlatformConfig(kube);
          functionImage(config, spec);
          if (spec.image !== undefined) await checkUsableImage({ kube, pool }, config, environment, spec.image);
          const created = { annotations: resolved.annotations, complete: resolved.storeSecrets };
          if (spec.trigger !== 'http') return { spec, ...created };
          const { namespace, project } = environment;
          const { spec: served, host } = await withHost({ kube, config }, { name, namespace }, spec);
          const applicant = { project, labels: functionLabels({ name, namespace }, config.cluster) };
          await admitHosts({ kube, config, resolveTxt }, applicant, [host]);
          return { spec: served, hosts: [host], url: publicUrl(config, host), ...created };
        },
      },
      list: { summary: 'Lists the functions of an environment by name.' },
      read: { summary: 'Shows a function.', view: fullView },
      delete: {
        summary: 'Deletes a function and its resources. 202 while the deletion is in progress.',
        query: environmentQuery.extend(discardQuery.shape),
        async check(object, { discardEvents }) {
          const deleting = object.metadata.deletionTimestamp !== undefined;
          if (!deleting && !discardEvents) await checkDelivered(pool, object);
        },
      },
    }),
    allFunctionsRoute(dependencies, listView),
    updateRoute(functions, dependencies, fullView),
    ...bindingRoutes(functions, dependencies, { phrase: 'a function', checkUnbind: checkNoEventSource }),
    ...eventRoutes(functions, dependencies),
    ...settingsRoutes(functions, dependencies),
    ...runRoutes<FunctionResource>(functions, dependencies, {
      kind: 'Function',
      start: {
        path: '/test-runs',
        summary: 'Runs a cron function once, now. The run is deleted ten minutes after it ends.',
        audit: 'function.test',
      },
      list: { summary: 'Lists a cron function’s active and recent runs, newest first.' },
      read: { summary: 'Shows a run of a cron function.' },
      logs: {
        path: '/run-logs',
        summary:
          'Shows the log of a cron function’s run, by default the newest. With `follow`, streams JSON lines until the run has ended.',
      },
      container: 'function',
      view: functionRunView,
      runName: testRunName,
      runsOf: functionRuns,
      startHint: (name) => `svc function test ${name}`,
      check: checkCron,
    }),
    ...gateRoutes(functions, dependencies, checkRoute),
    podsRoute(functions, { kube }, 'Lists the pods of a function with their state and restarts, newest first.'),
    logRoute(
      functions,
      { kube, clock, logs },
      {
        kind: 'function',
        container: 'function',
        podsOf: (id) => `${idLabel}=${id}`,
        summary:
          'Shows the logs of a function’s pods, by time, including scheduled and test runs. With `follow`, streams JSON lines.',
      },
    ),
  ];
}

/** `GET /functions`: across projects. */
function allFunctionsRoute(
  { kube, visibleProjects }: FunctionDependencies,
  viewer: (reader: ObjectReader) => (object: Stored<FunctionResource>) => Promise<object>,
): Route {
  return route({
    method: 'GET',
    path: '/functions',
    access: 'session',
    tag: 'functions',
    summary: 'Lists the functions of all your projects. Platform admins also see functions outside projects.',
    query: pageQuery,
    replies: { 200: page(functionView) },
    async handle(request) {
      const session = sessionOf(request);
      const projects = await visibleProjects(session);
      const environments = new Map(projects.items.flatMap(environmentsOf).map((own) => [own.namespace, own]));
      const reader = readerFor(kube, session);
      const { items, resourceVersion } = await reader.list<FunctionResource>(kinds.Function);
      const visible = items.filter((item) => {
        const environment = environments.get(item.metadata.namespace ?? '');
        return session.role === 'admin' || (environment !== undefined && isIn(environment, item));
      });
      const page = pageOf(visible, ({ metadata }) => `${metadata.namespace}/${metadata.name}`, request.query);
      const headers = versionHeader(resourceVersion);
      return {
        status: 200,
        headers,
        body: { ...page, items: await Promise.all(page.items.map(async (item) => viewer(reader)(item))) },
      };
    },
  });
}

/** What an access token with the scope `deploy` may change. */
const deployable: ReadonlySet<string> = new Set(['runtime', 'code', 'dependencies', 'image']);

function updateRoute(
  functions: ObjectRoutes<FunctionResource>,
  dependencies: FunctionDependencies,
  toView: (object: Stored<FunctionResource>) => Promise<object>,
): Route {
  const { kube, pool, resolveTxt } = dependencies;
  return functions.route({
    method: 'PATCH',
    path: '',
    access: { project: 'deployer', scope: 'deploy' },
    summary:
      'Changes a function. Its pods are replaced one by one; a function at zero uses the change when it starts. An access token needs the scope `write` for all but its code, dependencies or image.',
    audit: 'function.update',
    query: environmentQuery.extend(discardQuery.shape),
    body: functionUpdate,
    bodyLimit: largeBodyLimit,
    replies: { 200: functionView },
    async handle(request) {
      const { body, query, environment, name, asker, findLiving } = request;
      const settings = Object.keys(body);
      if (query.discardEvents || settings.some((field) => !deployable.has(field))) {
        requireScope(request, 'write', 'Changing settings');
      }
      if (settings.length === 0) {
        throw new Problem('invalid_request', 'The request changes nothing. Set a field, such as code or image.');
      }
      const config = await readPlatformConfig(kube);
      const changed = await changeFunction(kube, findLiving, async (current) => {
        const { env, ...fields } = body;
        const workloadId = workloadIdOf(current);
        const variables = env && (await replacedVariables(kube, current, env));
        let spec = changedSpec(current.spec, { ...fields, ...(variables && { env: variables }) });
        if (fields.events || fields.trigger) {
          const owner = { name, id: workloadId, spec };
          spec = await withSourceBound(dependencies, environment, owner, fields.events?.database);
        }
        await checkPods(kube, environment.namespace, spec);
        // A function that the limits no longer fit can still change in every other way.
        if (body.memory !== undefined || body.minReplicas !== undefined) await checkFits(kube, environment, spec);
        functionImage(config, spec);
        if (body.image !== undefined) await checkUsableImage({ kube, pool }, config, environment, body.image);
        if (!spec.events && !query.discardEvents) await checkDelivered(pool, current);
        if (spec.trigger !== 'http') return spec;
        const { namespace, project } = environment;
        const { spec: served, host } = await withHost({ kube, config }, { name, namespace, workloadId }, spec);
        await checkHostHolder(kube, host, { workloadId, asker });
        const applicant = { project, workloadId, labels: functionLabels({ name, namespace }, config.cluster) };
        await admitHosts({ kube, config, resolveTxt }, applicant, [host]);
        return served;
      });
      return { status: 200, body: await toView(changed), audit: { settings } };
    },
  });
}
