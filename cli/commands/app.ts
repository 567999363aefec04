import { z } from 'zod';
import { appView, deploymentAccepted, type AppView } from '../../runtime/contracts/api/apps.ts';
import { gitSourceView } from '../../runtime/contracts/api/git.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { text, texts, withoutDefaults } from '../flags.ts';
import { usedGitFlags, gitSourceFlags, gitSourceBody } from '../git-source.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { newEnvironmentBody, newEnvironmentFlags } from '../new-environment.ts';
import { appKind } from './app-kind.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';
import { buildCommit, deployCommand, promoteCommand } from './app-deploy.ts';
import { gitGroup } from './app-git.ts';
import { hostGroup } from './app-host.ts';
import { logsCommand } from './app-logs.ts';
import { restartableApp, restartCommand } from './app-restart.ts';
import { rollbackCommand } from './app-rollback.ts';
import { removalFlags, settingFlags, settingsBody } from './app-settings.ts';
import { webhookGroup } from './app-webhook.ts';
import { checkSucceeded, historyCommand, newestDeployments, printDeployment } from './deployment.ts';
import { envGroup } from './workload-env.ts';
import { bindingCommands } from './workload-bind.ts';
import { gateGroup } from './workload-gate.ts';
import { secretGroup } from './workload-secret.ts';
import { securityBody, securityFlags } from './security-policy.ts';
import { securityGroup } from './workload-security.ts';

/** How often a failed app is read again until its deployment ends, since the deployment's reason includes the logs. */
const reasonAttempts = 10;
/** How often an app may show the failure of its old pods after a change that fixes it. */
const recoveryAttempts = 10;

/** Waits until a new app's first deployment succeeds and the app runs. @throws Failure with the reason */
export function waitUntilRunning(context: Context, flags: WaitFlags, scope: Scope, name: string): Promise<AppView> {
  let failedLooks = 0;
  return waitFor(
    context,
    flags,
    async () => {
      const app = await appKind.read(scope, name);
      const newest = (await newestDeployments(scope, name, 1))[0];
      const ended = newest !== undefined && hasEnded(newest.status);
      if (ended) {
        await checkSucceeded(scope, newest);
        if (isSettled(app)) return { done: app };
      }
      if (app.status === 'failed' && (!newest || ended || ++failedLooks > reasonAttempts)) {
        throw new Failure(`App "${name}" failed: ${app.message ?? 'see its history'}`, {
          code: 'failed',
          hint: `svc app show ${name} ${scope.flags}`,
        });
      }
      if (!newest && app.image === '') return { progress: `${name}: ${await gitProgress(scope, name)}` };
      if (newest?.status === 'building') return { progress: `${name}: building` };
      if (app.status === 'pending' && app.message !== undefined) return { progress: `${name}: ${app.message}` };
      return { progress: `${name}: ${app.status} (${app.readyReplicas} of ${app.replicas} ready)` };
    },
    `svc app show ${name} ${scope.flags}`,
  );
}

/** Whether an app has the pods that it should have, which are none when it is scaled to 0. */
function isSettled({ status }: AppView): boolean {
  return status === 'running' || status === 'stopped';
}

/** The progress of the first read of the repository. @throws Failure when the git source has to be fixed */
async function gitProgress(scope: Scope, name: string): Promise<string> {
  const path = scope.path('apps', name, 'git');
  const { url = '', error, problem } = await scope.api.call('GET', path, gitSourceView, { query: scope.query });
  if (error !== undefined && problem !== undefined && problem !== 'unreachable') {
    const newUrl = problem === 'repository' ? '<url>' : url;
    throw new Failure(`Cannot build "${name}" from its repository: ${error}`, {
      code: 'git_source',
      hint: `the app is created and is built when you fix this: svc app git set ${name} --url ${newUrl} ${scope.flags}`,
    });
  }
  return error === undefined ? 'reading the repository' : `the repository is unreachable: ${error}`;
}

const create = command({
  name: 'create',
  args: ['app'],
  description: 'Create an app from an image or a git repository.',
  flags: {
    image: text('<image>', 'image with registry, name and tag'),
    git: text('<url>', 'build from this repository instead of using an image'),
    ...gitSourceFlags,
    hostname: text('<host>', 'public host (default <app>--<project>-<environment>.<apps domain>)'),
    ...settingFlags,
    ...newEnvironmentFlags,
    extraHost: texts('<host>', 'additional public host'),
    ...securityFlags,
    ...waitFlags,
    ...scopeFlags,
  },
  data: appView,
  examples: [
    'svc app create api --image registry.example.com/shop/api:1.4.2 --port 8080',
    'svc app create web --image registry.example.com/shop/web:7 --replicas 2 --health-path /ready --memory 256Mi',
    'svc app create api --git https://git.example.com/shop/api.git --branch release --token-file token',
    'svc app create api --image registry.example.com/shop/api:1 --bind orders --secret API_KEY --env-file .env',
  ],
  async run({ context, args, flags }) {
    const { git, hostname, image } = flags;
    if ((image === undefined) === (git === undefined)) throw usageFailure('Use either --image <image> or --git <url>.');
    const [gitFlag] = git === undefined ? usedGitFlags(flags) : [];
    if (gitFlag !== undefined) throw usageFailure(`${gitFlag} requires --git.`);
    const scope = resolveScope(context, flags);
    const body = {
      name: args.app,
      ...(git === undefined ? { image } : { git: await gitSourceBody(context, git, flags) }),
      ...(hostname !== undefined && { hostname }),
      ...(flags.extraHost.length > 0 && { extraHosts: flags.extraHost }),
      ...securityBody(flags),
      ...settingsBody(flags),
      ...(await newEnvironmentBody(context, flags)),
    };
    const created = await appKind.create(scope, body);
    const app = flags.wait ? await waitUntilRunning(context, flags, scope, args.app) : created;
    appKind.print(context, app, flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['app'],
  description: 'Deploy an image or change settings. --volume replaces all mounts.',
  flags: {
    image: text('<image>', 'image with registry, name and tag; creates a new revision'),
    commit: text('<sha>', 'commit of the image; without --image, the commit to build from git'),
    ...withoutDefaults(settingFlags),
    ...removalFlags,
    ...waitFlags,
    ...scopeFlags,
  },
  suggestions: { '--env': 'svc app env set' },
  data: appView,
  examples: [
    'svc app update api --image registry.example.com/shop/api:1.4.3 --commit 4c0ffee',
    'svc app update api --replicas 3 --memory 512Mi',
    'svc app update api --volume uploads:/data',
  ],
  async run({ context, args, flags }) {
    const { image, commit } = flags;
    const settings = settingsBody(flags);
    const changed = Object.keys(settings).length > 0;
    if (image === undefined && commit === undefined && !changed) {
      throw usageFailure('Nothing to change. See svc app update --help.');
    }
    if (image === undefined && commit !== undefined && changed) {
      throw usageFailure('--commit cannot be combined with settings unless --image is set.');
    }
    const scope = resolveScope(context, flags);
    if (image === undefined && commit !== undefined) {
      const accepted = await buildCommit(scope, args.app, commit);
      await printDeployment(context, flags, scope, { app: args.app, accepted });
      return;
    }
    const body = { ...(image !== undefined && { image }), ...(commit !== undefined && { commit }), ...settings };
    const schema = z.union([deploymentAccepted, appView]);
    const result = await scope.api.call('PATCH', scope.path('apps', args.app), schema, { query: scope.query, body });
    if ('statusUrl' in result) {
      await printDeployment(context, flags, scope, { app: args.app, accepted: result });
      return;
    }
    // Auto-rollback affects later deployments only, and changes no pods.
    const changesPods = flags.wait && Object.keys(settings).some((key) => key !== 'autoRollback');
    const app = changesPods ? await waitUntilServing(context, flags, scope, args.app) : result;
    appKind.print(context, app, flags.output);
    if (app.pendingRestart) {
      const restart = `svc app restart ${args.app} ${scope.flags}`;
      context.say(`its pods keep the variables and secrets of the last rollout; apply the new ones: ${restart}`);
    }
  },
});

/** Waits until all pods of an app have its current settings. @throws Failure `failed` with the reason */
export function waitUntilServing(context: Context, flags: WaitFlags, scope: Scope, name: string): Promise<AppView> {
  let failedLooks = 0;
  return waitFor(
    context,
    flags,
    async () => {
      const app = await appKind.read(scope, name);
      if (app.status === 'failed') {
        throw new Failure(`App "${name}" failed: ${app.message ?? 'see its history'}`, { code: 'failed' });
      }
      // While old pods serve, the app is running and its message says why the new pods do not start.
      const fault = isSettled(app) ? app.message : undefined;
      if (fault !== undefined && ++failedLooks > recoveryAttempts) {
        throw new Failure(fault, {
          code: 'failed',
          hint: `the old pods keep serving; the new settings stay. Check with: svc app show ${name} ${scope.flags}`,
        });
      }
      const isUp = isSettled(app) && app.readyReplicas === app.replicas;
      if (isUp && fault === undefined) return { done: app };
      return { progress: `${name}: ${app.status} (${app.readyReplicas} of ${app.replicas} ready)` };
    },
    `svc app show ${name} ${scope.flags}`,
  );
}

export const appCommands: Commands = {
  commands: [
    create,
    appKind.list,
    appKind.show,
    update,
    deployCommand,
    restartCommand,
    appKind.delete,
    ...bindingCommands(restartableApp),
    historyCommand,
    rollbackCommand,
    promoteCommand,
    logsCommand,
  ],
  groups: [
    envGroup(restartableApp),
    secretGroup(restartableApp),
    gateGroup(restartableApp),
    hostGroup,
    securityGroup(restartableApp),
    webhookGroup,
    gitGroup,
  ],
};
