import type { LazyGroup } from '../command.ts';

/** All commands of `svc`. They are loaded on use, since loading takes most of the time of a short command. */
export const rootGroup: LazyGroup = {
  name: 'svc',
  description: 'Deploy apps and functions on Kubernetes.',
  load: async () => (await import('./root-commands.ts')).rootCommands,
  groups: [
    {
      name: 'context',
      description: 'Manage saved logins to platforms.',
      load: async () => (await import('./context.ts')).contextCommands,
    },
    {
      name: 'project',
      description: 'Manage projects.',
      load: async () => (await import('./project.ts')).projectCommands,
    },
    {
      name: 'environment',
      description: 'Manage the environments of a project.',
      load: async () => (await import('./environment.ts')).environmentCommands,
    },
    {
      name: 'member',
      description: 'Manage the members of a project and their roles.',
      load: async () => (await import('./member.ts')).memberCommands,
    },
    {
      name: 'token',
      description: 'Manage access tokens for CI and other programs.',
      load: async () => (await import('./token.ts')).tokenCommands,
    },
    {
      name: 'session',
      description: 'List and end your sessions.',
      load: async () => (await import('./account-session.ts')).sessionCommands,
    },
    { name: 'app', description: 'Manage apps.', load: async () => (await import('./app.ts')).appCommands },
    {
      name: 'deployment',
      description: 'Show and cancel deployments.',
      load: async () => (await import('./deployments.ts')).deploymentCommands,
    },
    {
      name: 'plan',
      description: 'Manage usage plans for API keys.',
      load: async () => (await import('./plan.ts')).planCommands,
    },
    { name: 'key', description: 'Manage API keys.', load: async () => (await import('./key.ts')).keyCommands },
    {
      name: 'function',
      description: 'Manage functions that run on requests, schedules or events.',
      load: async () => (await import('./function.ts')).functionCommands,
    },
    {
      name: 'job',
      description: 'Manage jobs that run on demand or on a schedule.',
      load: async () => (await import('./job.ts')).jobCommands,
    },
    { name: 'volume', description: 'Manage volumes.', load: async () => (await import('./volume.ts')).volumeCommands },
    {
      name: 'service',
      description: 'Manage databases, caches and object stores.',
      load: async () => (await import('./service.ts')).serviceCommands,
    },
    {
      name: 'notification',
      description: 'Manage signed webhooks for finished deployments.',
      load: async () => (await import('./notification.ts')).notificationCommands,
    },
    {
      name: 'conversation',
      description: 'List, show and delete your conversations with the assistant.',
      load: async () => (await import('./conversation.ts')).conversationCommands,
    },
    {
      name: 'user',
      description: 'Manage users and change your password.',
      load: async () => (await import('./user.ts')).userCommands,
    },
    {
      name: 'platform',
      description: 'Show and configure the installation.',
      load: async () => (await import('./platform.ts')).platformCommands,
    },
    {
      name: 'image',
      description: 'Manage the images of builds, and build images on this machine.',
      load: async () => (await import('./image.ts')).imageCommands,
    },
  ],
};
