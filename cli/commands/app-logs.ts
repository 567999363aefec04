import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { lineFlags, selectionFlags } from '../log-flags.ts';
import { usageFailure } from '../failure.ts';
import { text } from '../flags.ts';
import { printLines, selectsLines } from '../log-lines.ts';
import { printLogs } from '../runs.ts';
import { resolveScope } from '../scope.ts';

export const logsCommand = command({
  name: 'logs',
  args: ['app'],
  description: 'Show the logs of an app. With -f, stream them across rollouts and restarts.',
  flags: {
    ...lineFlags,
    run: text('<run>', 'one-off run instead of the serving pods'),
    ...selectionFlags,
    ...scopeFlags,
  },
  examples: [
    'svc app logs api',
    'svc app logs api -f --since 10m',
    'svc app logs api --previous --tail 50',
    'svc app logs api --run api-0123456789',
  ],
  async run({ context, args, flags }) {
    if (flags.run !== undefined) {
      if (flags.since !== undefined || flags.previous || selectsLines(flags)) {
        throw usageFailure('--run cannot be combined with flags that select lines of all runs.');
      }
      await printLogs(context, flags, 'apps', args.app);
      return;
    }
    const scope = resolveScope(context, flags);
    await printLines(context, flags, scope, { path: scope.path('apps', args.app, 'logs'), workload: args.app });
  },
});
