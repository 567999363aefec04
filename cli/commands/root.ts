import type { Group } from '../command.ts';
import { installCommand } from './install-command.ts';
import { downCommand, upCommand } from './local.ts';
import { loginCommand, logoutCommand, whoamiCommand } from './session.ts';
import { statusCommand } from './status.ts';

/** Every command of `svc`. A group is only read when it is called: most of the time that a short command takes is reading. */
export const rootGroup: Group = {
  name: 'svc',
  description: 'Deploy apps and functions without knowing Kubernetes.',
  commands: [upCommand, downCommand, installCommand, loginCommand, logoutCommand, whoamiCommand, statusCommand],
  groups: [
    {
      name: 'project',
      description: 'Projects: groups of environments.',
      load: async () => (await import('./project.ts')).projectCommands,
    },
    {
      name: 'environment',
      description: 'Environments of a project, such as staging and prod.',
      load: async () => (await import('./environment.ts')).environmentCommands,
    },
    {
      name: 'member',
      description: 'Members: who may do what in a project.',
      load: async () => (await import('./member.ts')).memberCommands,
    },
    {
      name: 'app',
      description: 'Apps: container images at public hosts.',
      load: async () => (await import('./app.ts')).appCommands,
    },
    {
      name: 'deployment',
      description: 'Deployments: what was deployed in a project, and how it ended.',
      load: async () => (await import('./deployments.ts')).deploymentCommands,
    },
    {
      name: 'plan',
      description: 'Usage plans: what a key may do.',
      load: async () => (await import('./plan.ts')).planCommands,
    },
    {
      name: 'key',
      description: 'API keys of consumers.',
      load: async () => (await import('./key.ts')).keyCommands,
    },
    {
      name: 'function',
      description:
        'Functions: code that runs on requests, on a schedule or for events, and costs nothing between them.',
      load: async () => (await import('./function.ts')).functionCommands,
    },
    {
      name: 'job',
      description: 'Jobs: programs that run to their end, when asked to or on a schedule.',
      load: async () => (await import('./job.ts')).jobCommands,
    },
    {
      name: 'volume',
      description: 'Volumes: storage that outlives the pods that mount it.',
      load: async () => (await import('./volume.ts')).volumeCommands,
    },
    {
      name: 'service',
      description: 'Services: databases, caches and object stores for the workloads of an environment.',
      load: async () => (await import('./service.ts')).serviceCommands,
    },
    {
      name: 'notification',
      description: 'Notifications: signed webhooks that tell of deployments that have ended.',
      load: async () => (await import('./notification.ts')).notificationCommands,
    },
    {
      name: 'user',
      description: 'Users: who may sign in; and your own password.',
      load: async () => (await import('./user.ts')).userCommands,
    },
    {
      name: 'platform',
      description: 'The installation itself: its state and its settings.',
      load: async () => (await import('./platform.ts')).platformCommands,
    },
    {
      name: 'image',
      description: 'Images of the platform on this machine: folders, instead of layers in a registry.',
      load: async () => (await import('./image.ts')).imageCommands,
    },
  ],
};
