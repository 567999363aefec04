import { appCreate, appUpdate, appView, deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { appRunCreate, appRunView } from '../../runtime/contracts/api/runs.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { publicUrl } from '../../runtime/contracts/resources/platform-config.ts';
import { gitSourceConfigured } from '../../runtime/domain/git-source.ts';
import { createdByAnnotation, servingPods } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { accept } from '../../runtime/api/accept.ts';
import { requireRelease } from '../../runtime/api/app-commands.ts';
import { bindingRoutes } from '../../runtime/api/binding-routes.ts';
import { checkUsableImage } from '../../runtime/api/image.ts';
import { gateRoutes } from '../../runtime/api/gate-routes.ts';
import { checkGitSource, setGitSource } from '../../runtime/api/git-source.ts';
import { logRoute } from '../../runtime/api/log-routes.ts';
import { newEnvironment } from '../../runtime/api/new-environment.ts';
import { runRoutes } from '../../runtime/api/run-routes.ts';
import { objectRoutes } from '../../runtime/api/object-routes.ts';
import { podsRoute } from '../../runtime/api/pod-routes.ts';
import { secretRoutes } from '../../runtime/api/secret-routes.ts';
import { checkSecurity } from '../../runtime/api/security-settings.ts';
import { variableRoutes, type VariableKind } from '../../runtime/api/variable-routes.ts';
import type { WorkloadDependencies } from '../../runtime/api/workload-dependencies.ts';
import { replacedVariables } from '../../runtime/api/workload-variables.ts';
import { largeBodyLimit } from '../../runtime/http/body.ts';
import { requireScope, type Route } from '../../runtime/http/route.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import { restartTarget, sameImage } from '../../runtime/records/deployments.ts';
import { shownIdOf, workloadIdOf } from '../../runtime/workloads/objects.ts';
import { readPlatformConfig } from '../../runtime/workloads/platform-config.ts';
import { hostsRoute } from './hosts.ts';
import { notRunningReasons } from './not-running.ts';
import { promoteRoute } from './promote.ts';
import { isRestartPending } from './restart-pending.ts';
import { newRouting, withExtraHosts } from './routing.ts';
import { checkSettings } from './settings.ts';
import { patchApp, patchSeenApp } from './store.ts';
import { appRuns, stopRunRoute, withCommand } from './runs.ts';
import { appToView } from './view.ts';

/** `/projects/{project}/apps`: App objects, which the App controller reconciles; a new image is a deployment. */
export function createAppRoutes({ kube, pool, clock, baseUrl, resolveTxt, logs }: WorkloadDependencies): Route[] {
  const apps = objectRoutes<App>(kube, 'App');
  const variables: VariableKind<App> = {
    phrase: 'an app',
    effect: 'from the next deployment',
    isRestartPending: (app) => isRestartPending(kube, app),
  };
  const fullView = async (app: Stored<App>, environment: Environment) =>
    appToView(app, environment, {
      pendingRestart: await isRestartPending(kube, app),
      notRunning: (await notRunningReasons(pool, [app])).get(shownIdOf(app)),
    });

  return [
    ...apps.collection({
      view: appView,
      async viewer(environment, objects) {
        const reasons = await notRunningReasons(pool, objects);
        return (app, options) => appToView(app, environment, { ...options, notRunning: reasons.get(shownIdOf(app)) });
      },
      create: {
        summary:
          'Creates an app from an image or a git source, and deploys it; or for a folder that is uploaded later.',
        body: appCreate,
        bodyLimit: largeBodyLimit,
        async prepare({ body, environment, actor }) {
          const { name, image, git, upload, env, secrets, bindings, ...settings } = body;
          if ([image, git, upload].filter((source) => source !== undefined).length !== 1) {
            throw new Problem(
              'invalid_request',
              'Set an image, a git source to build images from, or upload: only one.',
            );
          }
          if (git) checkGitSource(git);
          const config = await readPlatformConfig(kube);
          if (image !== undefined) await checkUsableImage({ kube, pool }, config, environment, image, name);
          const { hosts, spec: routing } = await newRouting({ kube, config, resolveTxt }, environment, body);
          await checkSettings(kube, environment, settings);
          const requested = { name, env, secrets, bindings };
          const resolved = await newEnvironment<App>({ kube, pool, clock }, 'App', environment, requested);
          return {
            spec: { ...settings, image: image ?? '', ...resolved.spec, ...routing },
            hosts,
            annotations: { [createdByAnnotation]: actor, ...resolved.annotations },
            url: publicUrl(config, hosts[0]),
            async complete(app) {
              const stored = await resolved.storeSecrets(app);
              return git ? setGitSource(kube, stored, git) : stored;
            },
          };
        },
      },
      list: { summary: 'Lists the apps of an environment by name.' },
      read: { summary: 'Shows an app.', view: fullView },
      delete: { summary: 'Deletes an app and its resources. 202 while the deletion is in progress.' },
    }),
    apps.route({
      method: 'PATCH',
      path: '',
      access: { project: 'deployer', scope: 'deploy' },
      summary:
        'Changes an app. A new image starts a deployment: 202 with its status URL. An access token needs the scope `write` for settings.',
      audit: 'app.update',
      body: appUpdate,
      bodyLimit: largeBodyLimit,
      replies: { 200: appView, 202: deploymentAccepted },
      async handle(request) {
        const { body, environment, name, actor, asker, findLiving } = request;
        const { image, commit, env, replaces, ...settings } = body;
        const fields = Object.keys(body).filter((field) => !['image', 'commit', 'replaces'].includes(field));
        if (fields.length > 0) requireScope(request, 'write', 'Changing settings');
        if (image === undefined && (commit !== undefined || fields.length === 0)) {
          throw new Problem(
            'invalid_request',
            'The request changes nothing. Set an image (optionally with its commit) or settings.',
          );
        }
        if (image !== undefined)
          await checkUsableImage({ kube, pool }, await readPlatformConfig(kube), environment, image);
        checkSecurity(settings.security);
        const current = await findLiving();
        if (image !== undefined && current.spec.git) throw gitSourceConfigured(name);
        await checkSettings(kube, environment, settings, current.spec);
        const list = env && (await replacedVariables(kube, current, env));
        const change = { ...settings, ...(list && { env: list }) };
        const patch = () =>
          replaces ? patchSeenApp(kube, findLiving, change, replaces) : patchApp(kube, current, change);
        const app =
          fields.length === 0
            ? current
            : await withExtraHosts({ kube, now: clock.now(), asker, resolveTxt }, current, settings.extraHosts, patch);
        if (image === undefined) {
          const pendingRestart = await isRestartPending(kube, app);
          return { status: 200, body: appToView(app, environment, { pendingRestart }), audit: { settings: fields } };
        }
        const deployment = { workloadId: workloadIdOf(app), trigger: 'manual', image, commit, actor } as const;
        const reply = await accept({ pool, baseUrl, project: environment.project, deployment });
        return { ...reply, audit: { ...reply.audit, settings: fields } };
      },
    }),
    apps.route({
      method: 'POST',
      path: '/restart',
      access: { project: 'deployer', scope: 'deploy' },
      summary: 'Redeploys the current image with the latest variables and secrets.',
      audit: 'app.restart',
      replies: { 202: deploymentAccepted },
      async handle({ environment, actor, findLiving }) {
        const workloadId = workloadIdOf(await findLiving());
        return accept({
          pool,
          baseUrl,
          project: environment.project,
          deployment: async (client) => {
            const target = sameImage(await restartTarget(client, workloadId));
            return { workloadId, trigger: 'restart', ...target, actor };
          },
        });
      },
    }),
    podsRoute(apps, { kube }, 'Lists the pods of an app with their state, revision and restarts, newest first.'),
    logRoute(
      apps,
      { kube, clock, logs },
      {
        kind: 'app',
        container: 'app',
        podsOf: servingPods,
        summary:
          'Shows the logs of an app’s pods, by time. With `follow`, streams JSON lines across rollouts and restarts.',
      },
    ),
    ...runRoutes(
      apps,
      { kube, clock, baseUrl },
      {
        kind: 'App',
        start: {
          path: '/runs',
          summary:
            'Runs a command once in a pod of its own, with the image, variables and secrets of the app’s release, and without its volumes.',
          audit: 'app.run',
          body: appRunCreate,
        },
        requestOf: withCommand,
        list: { summary: 'Lists an app’s active and recent runs, newest first.' },
        read: { summary: 'Shows a run of an app.' },
        logs: {
          path: '/run-logs',
          summary:
            'Shows the log of a run, by default the newest. With `follow`, streams JSON lines until the run has ended.',
        },
        container: 'app',
        view: appRunView,
        runName: (app, id) => `${app}-${id}`,
        runsOf: appRuns,
        startHint: (app) => `svc app run ${app} -- <command>`,
        checkStart: requireRelease,
      },
    ),
    stopRunRoute(apps, { kube }),
    hostsRoute(apps, { kube, clock, resolveTxt }),
    promoteRoute({ kube, pool, clock, baseUrl, resolveTxt }),
    ...gateRoutes(apps, { kube }),
    ...bindingRoutes(apps, { kube, pool, clock, baseUrl }, { phrase: 'an app' }),
    ...variableRoutes(apps, { kube }, variables),
    ...secretRoutes(apps, { kube, clock }, variables),
  ];
}
