import { z } from 'zod';
import { appView, deploymentAccepted, type AppView } from '../../runtime/contracts/api/apps.ts';
import { gitSourceView } from '../../runtime/contracts/api/git.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { text, texts } from '../flags.ts';
import { givenGitFlags, gitSourceFlags, gitSourceOf } from '../git-source.ts';
import { ago, fields, table, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { variableFlag } from '../pod-settings.ts';
import { confirm } from '../prompt.ts';
import { readApp } from '../read-app.ts';
import { waitFlags, waitFor, waitForRemoval, type WaitFlags } from '../wait.ts';
import { messageColumn } from '../workload-message.ts';
import { buildCommit, deployCommand, promoteCommand } from './app-deploy.ts';
import { gitGroup } from './app-git.ts';
import { hostGroup } from './app-host.ts';
import { logsCommand } from './app-logs.ts';
import { restartableApp, restartCommand } from './app-restart.ts';
import { rollbackCommand } from './app-rollback.ts';
import { removalFlags, settingFlags, settingsOf } from './app-settings.ts';
import { webhookGroup } from './app-webhook.ts';
import { checkSucceeded, historyCommand, newestDeployments, printDeployment } from './deployment.ts';
import { envGroup } from './workload-env.ts';
import { gateGroup } from './workload-gate.ts';
import { secretGroup } from './workload-secret.ts';
import { securityFlags, securityGroup, securityOf, securityText } from './workload-security.ts';

function shown(app: AppView): Shown {
  return {
    data: app,
    table: fields([
      ['App', app.name],
      ['Project', app.project],
      ['Environment', app.environment],
      ['Status', app.status],
      ['Message', app.message],
      ['Out of memory', app.outOfMemory?.message],
      ['URL', app.url],
      ['Also at', app.extraHosts.length > 0 ? app.extraHosts.join(' ') : undefined],
      ['Image', app.image || undefined],
      ['Ready', `${app.readyReplicas} of ${app.replicas}`],
      ['Gate', app.gate],
      ['Security', securityText(app.security)],
      ['Port', app.port],
      ['Health path', app.healthPath],
      ['Memory', app.memory],
      ['CPU', app.cpu],
      ['Variables', Object.keys(app.env).join(', ') || undefined],
      ['Auto-rollback', app.autoRollback ? undefined : 'off'],
      ['Volumes', app.volumes.map(({ name, path }) => `${name}:${path}`).join(', ') || undefined],
      ['Changes', app.pendingRestart ? `of variables or secrets wait for svc app restart ${app.name}` : undefined],
    ]),
    names: [app.name],
  };
}

/** So many looks a failed app waits for the end of its deployment, whose reason has what the pods printed last, too. */
const looksForReason = 10;
/** So many looks a change may show the failure of what it mends, whose pods are still there. */
const looksForMending = 10;

/** Waits until a new app's first deployment has ended and the app runs. */
function untilRunning(context: Context, flags: WaitFlags, place: Place, name: string): Promise<AppView> {
  let failedLooks = 0;
  return waitFor(
    context,
    flags,
    async () => {
      const app = await readApp(place, name);
      const newest = (await newestDeployments(place, name, 1))[0];
      const ended = newest !== undefined && hasEnded(newest.status);
      if (ended) {
        await checkSucceeded(place, newest);
        if (app.status === 'running') return { done: app };
      }
      if (app.status === 'failed' && (!newest || ended || ++failedLooks > looksForReason)) {
        throw new Failure(`App "${name}" failed: ${app.message ?? 'see its history'}`, {
          code: 'failed',
          hint: `svc app show ${name} ${place.flags}`,
        });
      }
      if (!newest && app.image === '') return { progress: `${name}: ${await gitProgress(place, name)}` };
      if (newest?.status === 'building') return { progress: `${name}: building` };
      return { progress: `${name}: ${app.status} (${app.readyReplicas} of ${app.replicas} ready)` };
    },
    `it goes on: svc app show ${name} ${place.flags}`,
  );
}

/** How far the first look into the repository is. @throws Failure when somebody has to mend the source */
async function gitProgress(place: Place, name: string): Promise<string> {
  const path = place.path('apps', name, 'git');
  const { url = '', error, problem } = await place.api.call('GET', path, gitSourceView, { query: place.query });
  if (error !== undefined && problem !== undefined && problem !== 'unreachable') {
    const wanted = problem === 'repository' ? '<url>' : url;
    throw new Failure(`The repository of "${name}" cannot be used: ${error}`, {
      code: 'git_source',
      hint: `the app is there and is built once this is mended: svc app git set ${name} --url ${wanted} ${place.flags}`,
    });
  }
  return error === undefined ? 'looking into the repository' : `the repository is not reached: ${error}`;
}

const create = command({
  name: 'create',
  args: ['app'],
  description: 'Create an app from an image, or from a git repository, at a public host of its own.',
  flags: {
    image: text('<image>', 'image with registry, name and tag'),
    git: text('<url>', 'in its place: the repository that the images are built from'),
    ...gitSourceFlags,
    hostname: text('<host>', 'public host (default <app>--<project>-<environment>.<apps domain>)'),
    ...settingFlags,
    ...variableFlag,
    extraHost: texts('<host>', 'further public host'),
    ...securityFlags,
    ...waitFlags,
    ...scopeFlags,
  },
  examples: [
    'svc app create api --image registry.example.com/shop/api:1.4.2 --port 8080',
    'svc app create web --image registry.example.com/shop/web:7 --replicas 2 --health-path /ready --memory 256Mi',
    'svc app create api --git https://git.example.com/shop/api.git --branch release --token-file token',
  ],
  async run({ context, args, flags }) {
    const { git, hostname, image } = flags;
    if ((image === undefined) === (git === undefined)) throw usageFailure('Give --image <image> or --git <url>.');
    const [other] = git === undefined ? givenGitFlags(flags) : [];
    if (other !== undefined) throw usageFailure(`${other} goes with --git.`);
    const place = placeOf(context, flags);
    const body = {
      name: args.app,
      ...(git === undefined ? { image } : { git: await gitSourceOf(context, git, flags) }),
      ...(hostname !== undefined && { hostname }),
      ...(flags.extraHost.length > 0 && { extraHosts: flags.extraHost }),
      ...securityOf(flags),
      ...settingsOf(flags),
    };
    const created = await place.api.call('POST', place.path('apps'), appView, { query: place.query, body });
    context.print(shown(flags.wait ? await untilRunning(context, flags, place, args.app) : created), flags.output);
  },
});

const list = command({
  name: 'list',
  description: 'List the apps of an environment.',
  flags: scopeFlags,
  examples: ['svc app list', 'svc app list --project shop --environment prod -o name'],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const items = await place.api.list(place.path('apps'), appView, place.query);
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'APP', value: ({ name }) => name },
          { title: 'STATUS', value: ({ status }) => status },
          { title: 'READY', value: ({ readyReplicas, replicas: wanted }) => `${readyReplicas}/${wanted}` },
          { title: 'GATE', value: ({ gate }) => gate },
          { title: 'IMAGE', value: ({ image }) => image },
          { title: 'URL', value: ({ url }) => url },
          { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
          ...messageColumn(items, now),
        ]),
        names: items.map(({ name }) => name),
      },
      flags.output,
    );
  },
});

const show = command({
  name: 'show',
  args: ['app'],
  description: 'Show an app.',
  flags: scopeFlags,
  examples: ['svc app show api', 'svc app show api -o json'],
  async run({ context, args, flags }) {
    context.print(shown(await readApp(placeOf(context, flags), args.app)), flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['app'],
  description: 'Deploy an image, or change what the pods are like; --volume replaces all that were there.',
  flags: {
    image: text('<image>', 'image with registry, name and tag; makes a new revision'),
    commit: text('<sha>', 'commit of the image, shown in the history; alone: the one that is built of git'),
    ...settingFlags,
    ...removalFlags,
    ...waitFlags,
    ...scopeFlags,
  },
  examples: [
    'svc app update api --image registry.example.com/shop/api:1.4.3 --commit 4c0ffee',
    'svc app update api --replicas 3 --memory 512Mi',
    'svc app update api --volume uploads:/data',
  ],
  async run({ context, args, flags }) {
    const { image, commit } = flags;
    const settings = settingsOf(flags);
    const changed = Object.keys(settings).length > 0;
    if (image === undefined && commit === undefined && !changed) {
      throw usageFailure('Give --image or what to change; see svc app update --help.');
    }
    if (image === undefined && commit !== undefined && changed) {
      throw usageFailure('--commit goes with --image, or alone, to have it built of git.');
    }
    const place = placeOf(context, flags);
    if (image === undefined && commit !== undefined) {
      await printDeployment(context, flags, place, args.app, await buildCommit(place, args.app, commit));
      return;
    }
    const body = {
      ...(image !== undefined && { image }),
      ...(commit !== undefined && { commit }),
      ...settings,
    };
    const answer = z.union([deploymentAccepted, appView]);
    const result = await place.api.call('PATCH', place.path('apps', args.app), answer, { query: place.query, body });
    if ('statusUrl' in result) {
      await printDeployment(context, flags, place, args.app, result);
      return;
    }
    // A choice for deployments to come changes no pods.
    const awaited = flags.wait && Object.keys(settings).some((key) => key !== 'autoRollback');
    const app = awaited ? await untilServing(context, flags, place, args.app) : result;
    context.print(shown(app), flags.output);
  },
});

/** Waits until all pods of an app are as its settings say. @throws Failure `failed` with the reason when they do not come up */
function untilServing(context: Context, flags: WaitFlags, place: Place, name: string): Promise<AppView> {
  let failedLooks = 0;
  return waitFor(
    context,
    flags,
    async () => {
      const app = await readApp(place, name);
      if (app.status === 'failed') {
        throw new Failure(`App "${name}" failed: ${app.message ?? 'see its history'}`, { code: 'failed' });
      }
      // While pods of before serve, the app runs, and its message tells why the new ones do not come up.
      const fault = app.status === 'running' ? app.message : undefined;
      if (fault !== undefined && ++failedLooks > looksForMending) {
        throw new Failure(fault, {
          code: 'failed',
          hint: `what ran before keeps serving, and the settings are as they were given: svc app show ${name} ${place.flags}`,
        });
      }
      const isUp = app.status === 'running' && app.readyReplicas === app.replicas;
      if (isUp && fault === undefined) return { done: app };
      return { progress: `${name}: ${app.status} (${app.readyReplicas} of ${app.replicas} ready)` };
    },
    `it goes on: svc app show ${name} ${place.flags}`,
  );
}

const remove = command({
  name: 'delete',
  args: ['app'],
  description: 'Delete an app and everything that was made for it.',
  flags: { ...yesFlag, ...waitFlags, ...scopeFlags },
  examples: ['svc app delete api', 'svc app delete api --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const app = await readApp(place, args.app);
    await confirm(context, flags, `Delete app ${app.name} of ${app.project}/${app.environment}?`);
    await place.api.send('DELETE', place.path('apps', args.app), { query: place.query });
    if (flags.wait) await waitForRemoval(context, flags, `app ${app.name}`, () => readApp(place, args.app));
    context.say(`app ${app.name} ${flags.wait ? 'is deleted' : 'is being deleted'}`);
  },
});

export const appCommands: Commands = {
  commands: [
    ...[create, list, show, update, deployCommand, restartCommand, remove],
    ...[historyCommand, rollbackCommand, promoteCommand, logsCommand],
  ],
  groups: [
    ...[envGroup(restartableApp), secretGroup(restartableApp)],
    gateGroup({ what: 'app', article: 'an app', example: 'api' }),
    hostGroup,
    securityGroup({ what: 'app', article: 'an app', example: 'web' }),
    ...[webhookGroup, gitGroup],
  ],
};
