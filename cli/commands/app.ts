import { z } from 'zod';
import { appView, deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { text, texts, withoutDefaults } from '../flags.ts';
import { usedGitFlags, gitSourceFlags, gitSourceBody } from '../git-source.ts';
import { resolveScope } from '../scope.ts';
import { newEnvironmentBody, newEnvironmentFlags } from '../new-environment.ts';
import { copyCommand } from './app-cp.ts';
import { shellCommand } from '../suggest.ts';
import { appKind } from './app-kind.ts';
import { waitFlags } from '../wait.ts';
import { buildCommit, deployCommand } from './app-deploy.ts';
import { appDiffCommand } from './app-diff.ts';
import { logsCommand } from './app-logs.ts';
import { promoteCommand } from './app-promote.ts';
import { restartableApp, restartCommand } from './app-restart.ts';
import { rollbackCommand } from './app-rollback.ts';
import { runCommand, runsCommand, stopRunCommand } from './app-run.ts';
import { removalFlags, settingFlags, settingsBody } from './app-settings.ts';
import { waitUntilRunning, waitUntilServing } from './app-wait.ts';
import { historyCommand, printDeployment } from './deployment.ts';
import { metricsCommand } from './workload-metrics.ts';
import { podsCommand } from './workload-pods.ts';
import { execCommand } from './workload-exec.ts';
import { bindingCommands } from './workload-bind.ts';
import { workloadGroups } from './workload-groups.ts';
import { securityBody, securityFlags } from './security-policy.ts';

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

const groups = workloadGroups(restartableApp);

export const appCommands: Commands = {
  suggestions: {
    bash: shellCommand,
    config: 'svc app env',
    console: shellCommand,
    domain: 'svc app host',
    domains: 'svc app host',
    run: 'svc app exec <app> -- <command>',
    scale: 'svc app update <app> --replicas',
    shell: shellCommand,
    ssh: shellCommand,
    start: 'svc app update <app> --replicas',
    stop: 'svc app update <app> --replicas 0',
    url: 'svc open <app>',
    variables: 'svc app env',
  },
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
    appDiffCommand,
    rollbackCommand,
    promoteCommand,
    logsCommand,
    podsCommand('app'),
    metricsCommand('app'),
    execCommand('app'),
    copyCommand,
    runCommand,
    runsCommand,
    stopRunCommand,
  ],
  groups: [
    groups.env,
    groups.secret,
    groups.gate,
    {
      name: 'host',
      description: 'Manage additional public hosts of an app.',
      load: async () => (await import('./app-host.ts')).hostCommands,
    },
    groups.security,
    {
      name: 'webhook',
      description: 'Manage deployments by webhook.',
      load: async () => (await import('./app-webhook.ts')).webhookCommands,
    },
    {
      name: 'git',
      description: 'Manage builds from a git repository.',
      load: async () => (await import('./app-git.ts')).gitCommands,
    },
  ],
};
