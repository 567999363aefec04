import { anyRunView, runAccepted } from '../../runtime/contracts/api/runs.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { toggle } from '../flags.ts';
import { Failure } from '../failure.ts';
import { checkFollowOutput } from '../log-lines.ts';
import { followRun, printRuns } from '../runs.ts';
import { resolveScope } from '../scope.ts';

export const runCommand = command({
  name: 'run',
  args: ['app'],
  words: 'command',
  description: 'Run a command once, in a new pod with the environment of an app.',
  flags: { detach: toggle('print the ID of the run and exit without waiting', { short: 'd' }), ...scopeFlags },
  examples: [
    'svc app run api -- npm run migrate',
    "svc app run api -- sh -c 'rails db:seed'",
    'svc app run api -d -- node backfill.js',
  ],
  async run({ context, args, words, flags }) {
    if (!flags.detach) checkFollowOutput({ ...flags, follow: true });
    const scope = resolveScope(context, flags);
    const path = scope.path('apps', args.app, 'runs');
    const accepted = await scope.api.call('POST', path, runAccepted, { query: scope.query, body: { command: words } });
    if (flags.detach) {
      context.print({ data: accepted, table: `run ${accepted.id} is accepted`, names: [accepted.id] }, flags.output);
      return;
    }
    const source = { path: scope.path('apps', args.app, 'run-logs'), query: { ...scope.query, run: accepted.id } };
    const { ended, message } = await followRun(context, scope, source, flags.output);
    if (ended === 'succeeded') return;
    const reason = ended === 'removed' ? 'was deleted before it ended' : `failed: ${message ?? 'see its logs'}`;
    const hint = `svc app logs ${args.app} --run ${accepted.id} ${scope.flags}`;
    throw new Failure(`Run ${accepted.id} ${reason}`, { code: 'run_failed', hint });
  },
});

export const runsCommand = command({
  name: 'runs',
  args: ['app'],
  description: 'List the recent one-off runs of an app, newest first.',
  flags: scopeFlags,
  data: anyRunView,
  watch: true,
  examples: ['svc app runs api', 'svc app runs api -o json'],
  run: ({ context, args, flags }) => printRuns(context, flags, 'apps', args.app),
});
