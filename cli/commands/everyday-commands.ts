import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { environmentLogFlags } from '../log-flags.ts';

// The modules of these commands are loaded on use, since the root group is loaded by every command.

export const openCommand = command({
  name: 'open',
  args: ['workload', 'name?'],
  description: 'Open an app or a function in the browser, or print its URL without one.',
  flags: scopeFlags,
  examples: ['svc open api', 'svc open function hello', 'svc open api -o name'],
  run: async ({ context, args, flags }) => (await import('./open.ts')).open(context, args, flags),
});

export const environmentLogsCommand = command({
  name: 'logs',
  description: 'Show the logs of all apps and functions in an environment, sorted by time.',
  flags: environmentLogFlags,
  examples: ['svc logs', 'svc logs -f --environment prod', 'svc logs --app api --function hello --since 15m'],
  run: async ({ context, flags }) => (await import('./environment-logs.ts')).printEnvironmentLogs(context, flags),
});
