import type { Pool } from 'pg';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { publicUrl } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { gitSourceConfigured } from '../../runtime/domain/git-source.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { checkWorkloadName } from '../../runtime/domain/names.ts';
import { createdByAnnotation } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { findApp, findLivingApp } from '../../runtime/host/app-request.ts';
import { accept } from '../../runtime/host/accept.ts';
import { checkGivenSource, setGitSource } from '../../runtime/host/git-source.ts';
import { environmentRoutes } from '../../runtime/host/environment-routes.ts';
import { gateRoutes } from '../../runtime/host/gate-routes.ts';
import { pageOf } from '../../runtime/host/page.ts';
import { readPlatformConfig } from '../../runtime/host/platform-config.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { checkSecurity } from '../../runtime/host/security-settings.ts';
import { createWorkload, newWorkloadMetadata } from '../../runtime/host/workload-create.ts';
import { deleteWorkload, workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { newVariables, replacedVariables } from '../../runtime/host/workload-variables.ts';
import { resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { logRoutes } from './logs.ts';
import { isRestartPending, restartRoutes } from './restart.ts';
import { whyNotRunning } from './not-running.ts';
import { newRouting, withExtraHosts } from './routing.ts';
import { createAppSchema, deleteAppSchema, getAppSchema, listAppsSchema, updateAppSchema } from './schema.ts';
import { checkSettings } from './settings.ts';
import { patchApp } from './store.ts';
import { appToView } from './view.ts';

export interface AppDependencies {
  kube: KubeClient;
  pool: Pool;
  clock: Clock;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'apps';
const path = '/projects/:project/apps/:app';

/** `/projects/{p}/apps`: App objects, whose controller does the rest; a new image goes through the history. */
export function createAppRoutes({ kube, pool, clock, baseUrl }: AppDependencies): Route[] {
  return [
    route({
      ...createAppSchema,
      method: 'POST',
      path: '/projects/:project/apps',
      access: { project: 'deployer' },
      tag,
      summary: 'Creates an app of an image, or of a git source; its first deployment follows.',
      async handle(request) {
        const { params, query, body, log } = request;
        const { name, image, git, env, ...spec } = body;
        checkWorkloadName(name);
        if ((image === undefined) === (git === undefined)) {
          throw new Problem('invalid_request', 'Give an image, or the git source that the images are built from.');
        }
        if (image !== undefined) checkImage(image);
        if (git) checkGivenSource(git);
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const config = await readPlatformConfig(kube);
        const { hosts, spec: routing } = newRouting(config, environment.namespace, body);
        const { apiVersion, kind } = kinds.App;
        const actor = sessionOf(request).email;
        const annotations = { [createdByAnnotation]: actor };
        const metadata = { ...newWorkloadMetadata('App', name, environment), annotations };
        await checkSettings(kube, environment.namespace, spec);
        const variables = newVariables('App', env ?? {});
        const settings = { ...spec, image: image ?? '', ...(variables.length > 0 && { env: variables }) };
        const app = { apiVersion, kind, metadata, spec: { ...settings, ...routing } } as App;
        const made = await createWorkload(kube, app, { hosts, environment });
        const created = git ? await setGitSource(kube, made, git) : made;
        log.info({ app: name, namespace: environment.namespace, actor }, 'app created');
        return { status: 201, body: appToView(created, environment, { url: publicUrl(config, hosts[0]) }) };
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
      async handle(request) {
        const { environment, app } = await findApp(kube, request);
        const pendingRestart = await isRestartPending(kube, app);
        const message = await whyNotRunning(pool, app);
        return { status: 200, body: appToView(app, environment, { pendingRestart, message }) };
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
        const { params, body, log } = request;
        const { image, commit, env, ...given } = body;
        const settings = Object.keys(body).filter((field) => field !== 'image' && field !== 'commit');
        if (image === undefined && (commit !== undefined || settings.length === 0)) {
          throw new Problem(
            'invalid_request',
            'Give what to change: an image (with its commit, if you like) or settings.',
          );
        }
        if (image !== undefined) checkImage(image);
        checkSecurity(given.security);
        const { environment, app: living } = await findLivingApp(kube, request);
        if (image !== undefined && living.spec.git) throw gitSourceConfigured(params.app);
        await checkSettings(kube, environment.namespace, given, living.spec);
        const variables = env && (await replacedVariables(kube, living, env));
        const change = () => patchApp(kube, living, { ...given, ...(variables && { env: variables }) });
        const app =
          settings.length === 0
            ? living
            : await withExtraHosts({ kube, now: clock.now() }, living, given.extraHosts, change);
        const actor = sessionOf(request).email;
        if (settings.length > 0) {
          log.info({ app: params.app, namespace: environment.namespace, settings, actor }, 'app changed');
        }
        if (image === undefined) {
          const pendingRestart = await isRestartPending(kube, app);
          return { status: 200, body: appToView(app, environment, { pendingRestart }) };
        }
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
        const { params, log } = request;
        const { environment, app } = await findApp(kube, request);
        const left = await deleteWorkload(kube, app);
        log.info({ app: params.app, namespace: environment.namespace, actor: sessionOf(request).email }, 'app deleted');
        return left ? { status: 202, body: appToView(left, environment) } : { status: 204 };
      },
    }),
    ...gateRoutes<App>({ kube }, { kind: 'App' }),
    ...logRoutes({ kube, clock }),
    ...environmentRoutes<App>(
      { kube, clock },
      {
        kind: 'App',
        reach: 'pods have it from the next deployment on',
        isRestartPending: (app) => isRestartPending(kube, app),
      },
    ),
    ...restartRoutes({ kube, pool, baseUrl }),
  ];
}
