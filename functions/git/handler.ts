import type { Pool } from 'pg';
import { z } from 'zod';
import { deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { environmentQuery, idPageQuery, page } from '../../runtime/contracts/api/common.ts';
import {
  buildLogView,
  buildView,
  gitBuildCreate,
  gitSourceSet,
  gitSourceView,
  type GitSourceView,
} from '../../runtime/contracts/api/git.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { checkCommit } from '../../runtime/domain/git-source.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { fingerprintOf, publicHalfOf } from '../../runtime/domain/ssh-keys.ts';
import { accept } from '../../runtime/api/accept.ts';
import { checkGitSource, removeGitSource, setGitSource } from '../../runtime/api/git-source.ts';
import { objectRoutes } from '../../runtime/api/object-routes.ts';
import { findDeployment } from '../../runtime/api/project-deployment.ts';
import type { GitCredentials } from '../../runtime/git/git.ts';
import { gitCredentialsOf, readGitSecret } from '../../runtime/git/credentials.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { largeBodyLimit } from '../../runtime/http/body.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import { resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { findBuildLog } from '../../runtime/records/build-logs.ts';
import { findGitSource, expeditePoll, renewGitSource, projectGitSource } from '../../runtime/records/git-sources.ts';
import { readBuildLog } from '../../runtime/workloads/build-log.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { listBuilds } from './store.ts';

export interface GitDependencies {
  kube: KubeClient;
  pool: Pool;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'git';

const buildLogQuery = z.object({
  offset: z.coerce
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('Skips this many characters; use the `offset` of the previous response.'),
});

function credentialsView(credentials: GitCredentials | undefined): Pick<GitSourceView, 'credentials' | 'deployKey'> {
  if (!credentials) return { credentials: 'none' };
  if ('token' in credentials) return { credentials: 'token' };
  const deployKey = publicHalfOf(credentials.deployKey);
  return { credentials: 'deploy-key', ...(deployKey !== undefined && { deployKey }) };
}

function hostKeyView(key: string, given: boolean): NonNullable<GitSourceView['hostKeys']>[number] {
  const [type = ''] = key.split(' ');
  return { type, fingerprint: fingerprintOf(key), given };
}

/** The git source of an app, and builds with their logs. */
export function createGitRoutes({ kube, pool, baseUrl }: GitDependencies): Route[] {
  const apps = objectRoutes<App>(kube, 'App');
  const sourceToView = async (app: Stored<App>): Promise<GitSourceView> => {
    const { git } = app.spec;
    if (!git) return { configured: false };
    const [secret, state] = [await readGitSecret(kube, app, git.url), await findGitSource(pool, workloadIdOf(app))];
    const { hostKeys, ...source } = git;
    // The result of polling another source does not apply.
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
    apps.route({
      method: 'PUT',
      path: '/git',
      access: { project: 'deployer', scope: 'write' },
      tag,
      summary: 'Sets the git source that the app’s images are built from, and deploys its newest commit.',
      audit: 'git.set',
      body: gitSourceSet,
      bodyLimit: largeBodyLimit,
      replies: { 200: gitSourceView },
      async handle({ body, findLiving }) {
        checkGitSource(body);
        const app = await setGitSource(kube, await findLiving(), body);
        const id = workloadIdOf(app);
        // Recorded here so that webhooks use the new source from this response on; the controller would do it later.
        await projectGitSource(pool, id, app.spec.git);
        await renewGitSource(pool, id, { forgetHostKeys: body.knownHosts === null });
        return { status: 200, body: await sourceToView(app), audit: { ...app.spec.git } };
      },
    }),
    apps.route({
      method: 'GET',
      path: '/git',
      access: { project: 'viewer', scope: 'read' },
      tag,
      summary: 'Shows the app’s git source without its credentials, and the result of the last poll.',
      replies: { 200: gitSourceView },
      async handle({ find }) {
        return { status: 200, body: await sourceToView(await find()) };
      },
    }),
    apps.route({
      method: 'DELETE',
      path: '/git',
      access: { project: 'deployer', scope: 'write' },
      tag,
      summary: 'Removes the git source. The app keeps running its image, and can be deployed by image again.',
      audit: 'git.remove',
      replies: { 204: null },
      async handle({ find }) {
        const app = await find();
        await removeGitSource(kube, app);
        await projectGitSource(pool, workloadIdOf(app), undefined);
        return { status: 204 };
      },
    }),
    apps.route({
      method: 'POST',
      path: '/git/sync',
      access: { project: 'deployer', scope: 'deploy' },
      tag,
      summary: 'Polls the git source for a new commit now.',
      audit: 'git.sync',
      replies: { 204: null },
      async handle({ findLiving }) {
        const app = await findLiving();
        if (!app.spec.git) throw noGitSource(app);
        await expeditePoll(pool, workloadIdOf(app));
        return { status: 204 };
      },
    }),
    apps.route({
      method: 'POST',
      path: '/git/builds',
      access: { project: 'deployer', scope: 'deploy' },
      tag,
      summary: 'Builds and deploys a commit, by default the newest of the branch.',
      audit: 'git.build',
      body: gitBuildCreate,
      replies: { 202: deploymentAccepted },
      async handle({ body: { commit }, environment, actor, findLiving }) {
        if (commit !== undefined) checkCommit(commit);
        const app = await findLiving();
        const { git } = app.spec;
        if (!git) throw noGitSource(app);
        const deployment = {
          workloadId: workloadIdOf(app),
          trigger: 'manual',
          commit,
          branch: git.branch,
          actor,
        } as const;
        return accept({ pool, baseUrl, project: environment.project, deployment });
      },
    }),
    route({
      method: 'GET',
      path: '/projects/:project/builds',
      access: { project: 'viewer', scope: 'read' },
      tag,
      summary: 'Lists the builds of an environment, newest first.',
      query: environmentQuery.extend(idPageQuery.shape),
      replies: { 200: page(buildView) },
      async handle({ params, query: { environment, limit, cursor } }) {
        const { namespace } = await resolveEnvironment(kube, params.project, environment);
        const builds = await listBuilds(pool, namespace, { limit: limit + 1, before: cursor });
        const body = pageOfRows(builds, limit, {
          cursorOf: ({ deploymentId }) => deploymentId,
          toItem: (build) => build,
        });
        return { status: 200, body };
      },
    }),
    route({
      method: 'GET',
      path: '/projects/:project/builds/:id/logs',
      access: { project: 'viewer', scope: 'logs:read', environment: 'handler' },
      tag,
      summary: 'Reads the log of a deployment’s build from an offset; poll it while the build is in progress.',
      query: buildLogQuery,
      replies: { 200: buildLogView },
      async handle({ params: { project, id }, query: { offset }, grant }) {
        const deployment = await findDeployment(pool, project, id, grant);
        const { state, image } = deployment;
        const building = (state === 'accepted' || state === 'building') && image === '';
        // While the pods exist, their log is more recent than the stored one.
        const live = building ? await readBuildLog(kube, deployment.id) : undefined;
        const { text, truncated } = live ?? (await findBuildLog(pool, deployment.id)) ?? { text: '', truncated: false };
        const end = Math.max(offset, text.length);
        const body = { log: text.slice(offset), offset: end, ended: !building || hasEnded(state), truncated };
        return { status: 200, body };
      },
    }),
  ];
}

function noGitSource({ metadata: { name } }: Stored<App>): Problem {
  return new Problem('conflict', `The app "${name}" has no git source. Set one with \`svc app git set\`.`);
}
