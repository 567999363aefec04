import type { Pool } from 'pg';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { publicUrl } from '../../runtime/contracts/resources/platform-config.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { appHost, checkHost, checkWorkloadName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { accept } from '../../runtime/host/accept.ts';
import { pageOf } from '../../runtime/host/page.ts';
import { checkHostFree, readPlatformConfig } from '../../runtime/host/platform-config.ts';
import { route, sessionOf, type Route, type RouteRequest } from '../../runtime/host/route.ts';
import { createWorkload, newWorkloadMetadata } from '../../runtime/host/workload-create.ts';
import { deleteWorkload, getLivingWorkload, getWorkload, workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { resolveEnvironment, type Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  createAppSchema,
  deleteAppSchema,
  getAppSchema,
  getGateSchema,
  listAppsSchema,
  setGateSchema,
  updateAppSchema,
} from './schema.ts';
import { patchApp } from './store.ts';
import { appToView, gateToView } from './view.ts';

export interface AppDependencies {
  kube: KubeClient;
  pool: Pool;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'apps';
const path = '/projects/:project/apps/:app';

/** The entry of spec.md §6.3 for a gate that is switched: from then on keys decide over the app's route, or no longer. */
function auditGate(
  request: Pick<RouteRequest<unknown, unknown, unknown>, 'session' | 'log'>,
  { project, environment }: Environment,
  app: Stored<App>,
): void {
  const enabled = app.spec.gate?.enabled ?? false;
  request.log.info(
    {
      action: enabled ? 'gate.enable' : 'gate.disable',
      environment,
      actor: sessionOf(request).email,
      project,
      app: { id: workloadIdOf(app), name: app.metadata.name },
    },
    'apikey audit',
  );
}

/** `/projects/{p}/apps`: App objects, whose controller does the rest; a new image goes through the history. */
export function createAppRoutes({ kube, pool, baseUrl }: AppDependencies): Route[] {
  return [
    route({
      ...createAppSchema,
      method: 'POST',
      path: '/projects/:project/apps',
      access: { project: 'deployer' },
      tag,
      summary: 'Creates an app; its first deployment follows.',
      async handle(request) {
        const { params, query, body, log } = request;
        const { name, ...spec } = body;
        checkWorkloadName(name);
        checkImage(spec.image);
        if (spec.hostname !== undefined) checkHost(spec.hostname);
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const config = await readPlatformConfig(kube);
        const host = spec.hostname ?? appHost(name, environment.namespace, config.appsDomain);
        checkHostFree(config, host);
        const { apiVersion, kind } = kinds.App;
        const metadata = newWorkloadMetadata('App', name, environment);
        const app = { apiVersion, kind, metadata, spec } as App;
        const created = await createWorkload(kube, app, { host, environment });
        log.info({ app: name, namespace: environment.namespace, actor: sessionOf(request).email }, 'app created');
        return { status: 201, body: appToView(created, environment, publicUrl(config, host)) };
      },
    }),
    route({
      ...listAppsSchema,
      method: 'GET',
      path: '/projects/:project/apps',
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the apps of an environment by name.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const { items } = await kube.list<App>(kinds.App, { namespace: environment.namespace });
        const page = pageOf(items, ({ metadata }) => metadata.name, query);
        return { status: 200, body: { ...page, items: page.items.map((app) => appToView(app, environment)) } };
      },
    }),
    route({
      ...getAppSchema,
      method: 'GET',
      path,
      access: { project: 'viewer' },
      tag,
      summary: 'Shows an app.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        return {
          status: 200,
          body: appToView(await getWorkload<App>(kube, 'App', environment, params.app), environment),
        };
      },
    }),
    route({
      ...updateAppSchema,
      method: 'PATCH',
      path,
      access: { project: 'deployer' },
      tag,
      summary: 'Changes an app; a new image is a deployment, whose status the answer names.',
      async handle(request) {
        const { params, query, body } = request;
        const { image, commit, ...spec } = body;
        if (image === undefined && (commit !== undefined || Object.keys(spec).length === 0)) {
          throw new Problem(
            'invalid_request',
            'Give what to change: an image (with its commit, if you like) or replicas.',
          );
        }
        if (image !== undefined) checkImage(image);
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        let app = await getLivingWorkload<App>(kube, 'App', environment, params.app);
        if (Object.keys(spec).length > 0) app = await patchApp(kube, app, spec);
        if (image === undefined) return { status: 200, body: appToView(app, environment) };
        const actor = sessionOf(request).email;
        const workloadId = workloadIdOf(app);
        const deployment = { workloadId, trigger: 'manual', image, commit, actor } as const;
        return accept({ pool, baseUrl, project: environment.project, deployment });
      },
    }),
    route({
      ...deleteAppSchema,
      method: 'DELETE',
      path,
      access: { project: 'deployer' },
      tag,
      summary: 'Deletes an app and everything that was made for it; 202 while that goes on.',
      async handle(request) {
        const { params, query, log } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const app = await getWorkload<App>(kube, 'App', environment, params.app);
        const left = await deleteWorkload(kube, app);
        log.info({ app: params.app, namespace: environment.namespace, actor: sessionOf(request).email }, 'app deleted');
        return left ? { status: 202, body: appToView(left, environment) } : { status: 204 };
      },
    }),
    route({
      ...setGateSchema,
      method: 'PUT',
      path: `${path}/gate`,
      access: { project: 'admin' },
      tag,
      summary:
        'Requires an API key on the public route, or no longer; `applying` and `lifting` until the ingress was seen to follow.',
      async handle(request) {
        const { params, query, body } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const before = await getLivingWorkload<App>(kube, 'App', environment, params.app);
        const app = await patchApp(kube, before, { gate: { enabled: body.enabled } });
        if ((before.spec.gate?.enabled ?? false) !== body.enabled) auditGate(request, environment, app);
        return { status: 200, body: gateToView(app) };
      },
    }),
    route({
      ...getGateSchema,
      method: 'GET',
      path: `${path}/gate`,
      access: { project: 'viewer' },
      tag,
      summary: 'Tells whether the public route requires an API key, since when, and what was last seen of it.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        return { status: 200, body: gateToView(await getWorkload<App>(kube, 'App', environment, params.app)) };
      },
    }),
  ];
}
