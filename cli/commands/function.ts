import type { Commands } from '../command.ts';
import { restartableFunction } from './function-environment.ts';
import { workloadCommands } from './workload-commands.ts';
import { workloadGroups } from './workload-groups.ts';

const groups = workloadGroups(restartableFunction);
const commands = workloadCommands(restartableFunction);

export const functionCommands: Commands = {
  commands: [
    { name: 'create', load: async () => (await import('./function-create.ts')).createCommand },
    { name: 'update', load: async () => (await import('./function-update.ts')).updateCommand },
    { name: 'restart', load: async () => (await import('./function-restart.ts')).restartCommand },
    { name: 'list', load: async () => (await import('./function-kind.ts')).listCommand },
    { name: 'show', load: async () => (await import('./function-kind.ts')).functionKind.show },
    commands.bind,
    commands.unbind,
    commands.bindings,
    { name: 'invoke', load: async () => (await import('./function-invoke.ts')).invokeCommand },
    { name: 'run', load: async () => (await import('./function-local.ts')).runCommand },
    { name: 'test', load: async () => (await import('./function-run.ts')).testCommand },
    { name: 'runs', load: async () => (await import('./function-run.ts')).runsCommand },
    { name: 'logs', load: async () => (await import('./function-run.ts')).logsCommand },
    { name: 'schedule', load: async () => (await import('./function-run.ts')).scheduleCommand },
    { name: 'events', load: async () => (await import('./function-events.ts')).eventsCommand },
    { name: 'delete', load: async () => (await import('./function-kind.ts')).deleteCommand },
    { name: 'pods', load: async () => (await import('./workload-pods.ts')).podsCommand('function') },
    commands.metrics,
    commands.exec,
  ],
  groups: [
    groups.env,
    groups.secret,
    {
      name: 'dead-letters',
      description: 'Manage events that could not be delivered.',
      load: async () => (await import('./function-events.ts')).deadLetterCommands,
    },
    groups.gate,
    groups.security,
  ],
};
