import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { lineFlags, printLines } from '../log-lines.ts';
import { placeOf } from '../place.ts';

export const logsCommand = command({
  name: 'logs',
  args: ['app'],
  description: 'Show what the pods of an app printed; with -f what they print from now on, over rollouts and restarts.',
  flags: { ...lineFlags, ...scopeFlags },
  examples: ['svc app logs api', 'svc app logs api -f --since 10m', 'svc app logs api --previous --tail 50'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    await printLines(context, flags, place, { path: place.path('apps', args.app, 'logs'), workload: args.app });
  },
});
