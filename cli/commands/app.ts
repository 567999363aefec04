import type { Commands } from '../command.ts';
import { shellCommand } from '../suggest.ts';
import { restartableApp } from './app-environment.ts';
import { workloadCommands } from './workload-commands.ts';
import { workloadGroups } from './workload-groups.ts';

const groups = workloadGroups(restartableApp);
const commands = workloadCommands(restartableApp);

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
    { name: 'create', load: async () => (await import('./app-create.ts')).createCommand },
    { name: 'list', load: async () => (await import('./app-kind.ts')).appKind.list },
    { name: 'show', load: async () => (await import('./app-kind.ts')).appKind.show },
    { name: 'update', load: async () => (await import('./app-update.ts')).updateCommand },
    { name: 'deploy', load: async () => (await import('./app-deploy.ts')).deployCommand },
    { name: 'restart', load: async () => (await import('./app-restart.ts')).restartCommand },
    { name: 'delete', load: async () => (await import('./app-kind.ts')).appKind.delete },
    commands.bind,
    commands.unbind,
    commands.bindings,
    { name: 'history', load: async () => (await import('./deployment.ts')).historyCommand },
    { name: 'diff', load: async () => (await import('./app-diff.ts')).appDiffCommand },
    { name: 'rollback', load: async () => (await import('./app-rollback.ts')).rollbackCommand },
    { name: 'promote', load: async () => (await import('./app-promote.ts')).promoteCommand },
    { name: 'logs', load: async () => (await import('./app-logs.ts')).logsCommand },
    { name: 'pods', load: async () => (await import('./workload-pods.ts')).podsCommand('app') },
    commands.metrics,
    commands.exec,
    { name: 'cp', load: async () => (await import('./app-cp.ts')).copyCommand },
    { name: 'run', load: async () => (await import('./app-run.ts')).runCommand },
    { name: 'runs', load: async () => (await import('./app-run.ts')).runsCommand },
    { name: 'stop-run', load: async () => (await import('./app-run.ts')).stopRunCommand },
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
