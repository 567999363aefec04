import type { Pool } from 'pg';
import type { GitSourceView } from '../../runtime/contracts/api/git.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { checkCommit } from '../../runtime/domain/git-source.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { fingerprintOf, publicHalfOf } from '../../runtime/domain/ssh-keys.ts';
import { accept } from '../../runtime/host/accept.ts';
import { findApp, findLivingApp } from '../../runtime/host/app-request.ts';
import { readBuildLog } from '../../runtime/host/build-log.ts';
import type { GitCredentials } from '../../runtime/host/git.ts';
import { gitCredentialsOf, readGitSecret } from '../../runtime/host/git-credentials.ts';
import { checkGivenSource, removeGitSource, setGitSource } from '../../runtime/host/git-source.ts';
import { pageOfRows } from '../../runtime/host/page.ts';
import { findDeployment } from '../../runtime/host/project-deployment.ts';
import { route, sessionOf, type Route, type RouteRequest } from '../../runtime/host/route.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { findBuildLog } from '../../runtime/records/build-logs.ts';
import {
  findGitSource,
  forgetHostKeys,
  forgetPollFailure,
  hastenPoll,
  projectGitSource,
} from '../../runtime/records/git-sources.ts';
import {
  buildGitSchema,
  buildLogSchema,
  getGitSchema,
  listBuildsSchema,
  removeGitSchema,
  setGitSchema,
  syncGitSchema,
} from './schema.ts';
import { listBuilds } from './store.ts';

export interface GitDependencies {
  kube: KubeClient;
  pool: Pool;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'git';
const path = '/projects/:project/apps/:app/git';

type AppRequest = Pick<RouteRequest<{ app: string }, unknown, unknown>, 'log' | 'params' | 'session'>;

function audit(request: AppRequest, namespace: string, action: string, fields: object = {}): void {
  const { email: actor } = sessionOf(request);
  request.log.info({ action, app: request.params.app, namespace, actor, ...fields }, 'git source changed');
}

function credentialsView(found: GitCredentials | undefined): Pick<GitSourceView, 'credentials' | 'deployKey'> {
  if (!found) return { credentials: 'none' };
  if ('token' in found) return { credentials: 'token' };
  const deployKey = publicHalfOf(found.deployKey);
  return { credentials: 'deploy-key', ...(deployKey !== undefined && { deployKey }) };
}

function hostKeyView(key: string, given: boolean): NonNullable<GitSourceView['hostKeys']>[number] {
  const [type = ''] = key.split(' ');
  return { type, fingerprint: fingerprintOf(key), given };
}

/** Where an app's images are built from: the source, what polling it brought, and the builds with their logs. */
export function createGitRoutes({ kube, pool, baseUrl }: GitDependencies): Route[] {
  const view = async (app: Stored<App>): Promise<GitSourceView> => {
    const { git } = app.spec;
    if (!git) return { configured: false };
    const [secret, state] = [await readGitSecret(kube, app, git.url), await findGitSource(pool, workloadIdOf(app))];
    const { hostKeys, ...source } = git;
    // What was polled of another source says nothing of this one.
    const polled = state?.url === git.url && state.branch === git.branch ? state : undefined;
    const keys = hostKeys ?? (state?.url === git.url ? state.hostKeys : undefined);
    return {
      configured: true,
      ...source,
      ...credentialsView(gitCredentialsOf(secret)),
      ...(keys && { hostKeys: keys.map((key) => hostKeyView(key, hostKeys !== undefined)) }),
      ...(polled?.commit && { commit: polled.commit }),
      ...(polled?.polledAt && { polledAt: polled.polledAt.toISOString() }),
      ...(polled?.error && { error: polled.error }),
      ...(polled?.problem && { problem: polled.problem }),
    };
  };

  return [
    route({
      ...setGitSchema,
      method: 'PUT',
      path,
      access: { project: 'deployer' },
      tag,
      summary: 'Has the app’s images built from a git repository; its newest commit is deployed.',
      async handle(request) {
        checkGivenSource(request.body);
        const { environment, app } = await findLivingApp(kube, request);
        const changed = await setGitSource(kube, app, request.body);
        // Webhooks are judged by it from this answer on, and not only once the controller has seen the change.
        await projectGitSource(pool, workloadIdOf(app), changed.spec.git);
        if (request.body.knownHosts === null) await forgetHostKeys(pool, workloadIdOf(app));
        await forgetPollFailure(pool, workloadIdOf(app));
        await hastenPoll(pool, workloadIdOf(app));
        audit(request, environment.namespace, 'git.set', { ...changed.spec.git });
        return { status: 200, body: await view(changed) };
      },
    }),
    route({
      ...getGitSchema,
      method: 'GET',
      path,
      access: { project: 'viewer' },
      tag,
      summary: 'Shows the app’s git source, without its credentials, and what polling it last brought.',
      async handle(request) {
        const { app } = await findApp(kube, request);
        return { status: 200, body: await view(app) };
      },
    }),
    route({
      ...removeGitSchema,
      method: 'DELETE',
      path,
      access: { project: 'deployer' },
      tag,
      summary: 'Detaches the git source: the app keeps running its image, and images are accepted again.',
      async handle(request) {
        const { environment, app } = await findApp(kube, request);
        await removeGitSource(kube, app);
        await projectGitSource(pool, workloadIdOf(app), undefined);
        audit(request, environment.namespace, 'git.remove');
        return { status: 204 };
      },
    }),
    route({
      ...syncGitSchema,
      method: 'POST',
      path: `${path}/sync`,
      access: { project: 'deployer' },
      tag,
      summary: 'Looks for a new commit now instead of at the next poll.',
      async handle(request) {
        const { app } = await findLivingApp(kube, request);
        if (!app.spec.git) throw noSource(request.params.app);
        await hastenPoll(pool, workloadIdOf(app));
        return { status: 204 };
      },
    }),
    route({
      ...buildGitSchema,
      method: 'POST',
      path: `${path}/builds`,
      access: { project: 'deployer' },
      tag,
      summary: 'Builds and deploys a commit, or the branch as it is now.',
      async handle(request) {
        const { commit } = request.body;
        if (commit !== undefined) checkCommit(commit);
        const { environment, app } = await findLivingApp(kube, request);
        const { git } = app.spec;
        if (!git) throw noSource(request.params.app);
        const actor = sessionOf(request).email;
        return accept({
          ...{ pool, baseUrl, project: environment.project },
          deployment: { workloadId: workloadIdOf(app), trigger: 'manual', commit, branch: git.branch, actor },
        });
      },
    }),
    route({
      ...listBuildsSchema,
      method: 'GET',
      path: '/projects/:project/builds',
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the builds of an environment, the newest first.',
      async handle({ params, query }) {
        const { namespace } = await resolveEnvironment(kube, params.project, query.environment);
        const { limit, cursor } = query;
        const found = await listBuilds(pool, namespace, { limit: limit + 1, before: cursor });
        const page = pageOfRows(found, limit, {
          cursorOf: ({ deploymentId }) => deploymentId,
          toItem: (build) => build,
        });
        return { status: 200, body: page };
      },
    }),
    route({
      ...buildLogSchema,
      method: 'GET',
      path: '/projects/:project/builds/:id/logs',
      access: { project: 'viewer' },
      tag,
      summary:
        'Follows what the build of a deployment printed, while it goes on: from `offset`, which each answer moves on.',
      async handle({ params: { project, id }, query: { offset } }) {
        const found = await findDeployment(pool, project, id);
        const builds = (found.state === 'accepted' || found.state === 'building') && found.image === '';
        // The pods know more than what was kept of them, until they go.
        const live = builds ? await readBuildLog(kube, found.id) : undefined;
        const { text, truncated } = live ?? (await findBuildLog(pool, found.id)) ?? { text: '', truncated: false };
        return {
          status: 200,
          body: {
            log: text.slice(offset),
            offset: Math.max(offset, text.length),
            ended: !builds || hasEnded(found.state),
            truncated,
          },
        };
      },
    }),
  ];
}

function noSource(app: string): Problem {
  return new Problem('conflict', `The app "${app}" has no git source; give it one with \`svc app git set\`.`);
}
