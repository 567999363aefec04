import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { lineFlags } from '../log-flags.ts';
import { printLines } from '../log-lines.ts';
import { resolveScope } from '../scope.ts';

export const logsCommand = command({
  name: 'logs',
  args: ['app'],
  description: 'Show the logs of an app. With -f, stream them across rollouts and restarts.',
  flags: { ...lineFlags, ...scopeFlags },
  examples: ['svc app logs api', 'svc app logs api -f --since 10m', 'svc app logs api --previous --tail 50'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    await printLines(context, flags, scope, { path: scope.path('apps', args.app, 'logs'), workload: args.app });
  },
});
