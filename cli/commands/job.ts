import type { Commands } from '../command.ts';
import { configurableJob } from './job-environment.ts';
import { workloadCommands } from './workload-commands.ts';
import { workloadGroups } from './workload-groups.ts';

const groups = workloadGroups(configurableJob);
const commands = workloadCommands(configurableJob);

export const jobCommands: Commands = {
  commands: [
    { name: 'create', load: async () => (await import('./job-create.ts')).createCommand },
    { name: 'run', load: async () => (await import('./job-run.ts')).runCommand },
    { name: 'list', load: async () => (await import('./job-kind.ts')).jobKind.list },
    { name: 'show', load: async () => (await import('./job-kind.ts')).jobKind.show },
    { name: 'update', load: async () => (await import('./job-update.ts')).updateCommand },
    commands.bind,
    commands.unbind,
    commands.bindings,
    { name: 'runs', load: async () => (await import('./job-run.ts')).runsCommand },
    { name: 'logs', load: async () => (await import('./job-run.ts')).logsCommand },
    commands.metrics,
    commands.exec,
    { name: 'delete', load: async () => (await import('./job-kind.ts')).jobKind.delete },
  ],
  groups: [groups.env, groups.secret],
};
