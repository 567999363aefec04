import { anyRunView, appRunView, runAccepted } from '../../runtime/contracts/api/runs.ts';
import { command } from '../command.ts';
import { segment } from '../client.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { execFlags } from '../exec-flags.ts';
import { toggle } from '../flags.ts';
import { Failure, usageFailure } from '../failure.ts';
import { checkFollowOutput } from '../log-lines.ts';
import type { OutputFormat } from '../output.ts';
import { confirm } from '../prompt.ts';
import { followRun, printRuns } from '../runs.ts';
import { resolveScope } from '../scope.ts';

export const runCommand = command({
  name: 'run',
  args: ['app'],
  words: 'command',
  description: 'Run a command once, in a new pod with the environment of an app.',
  flags: {
    ...execFlags,
    detach: toggle('print the ID of the run and exit without waiting', { short: 'd' }),
    ...scopeFlags,
  },
  examples: [
    'svc app run api -- npm run migrate',
    "svc app run api -- sh -c 'rails db:seed'",
    'svc app run api -d -- node backfill.js',
    'svc app run -it api -- sh',
    'svc app run -i api -- psql < dump.sql',
  ],
  async run({ context, args, words, flags }) {
    if (flags.stdin || flags.tty) return runConnected(context, args.app, words, flags);
    if (!flags.detach) checkFollowOutput({ ...flags, follow: true, by: 'svc app run' });
    const scope = resolveScope(context, flags);
    const path = scope.path('apps', args.app, 'runs');
    const accepted = await scope.api.call('POST', path, runAccepted, { query: scope.query, body: { command: words } });
    if (flags.detach) {
      context.print({ data: accepted, table: `run ${accepted.id} is accepted`, names: [accepted.id] }, flags.output);
      return undefined;
    }
    const source = { path: scope.path('apps', args.app, 'run-logs'), query: { ...scope.query, run: accepted.id } };
    const { ended, message } = await followRun(context, scope, source, flags.output);
    if (ended === 'succeeded') return undefined;
    const reason = ended === 'removed' ? 'was deleted before it ended' : `failed: ${message ?? 'see its logs'}`;
    const hint = `svc app logs ${args.app} --run ${accepted.id} ${scope.flags}`;
    throw new Failure(`Run ${accepted.id} ${reason}`, { code: 'run_failed', hint });
  },
});

interface ConnectedFlags {
  stdin: boolean;
  tty: boolean;
  detach: boolean;
  output: OutputFormat | undefined;
  api: string | undefined;
  project: string | undefined;
  environment: string | undefined;
}

/** Runs the command with local streams. Its pod is deleted when this process ends. @returns its exit code */
async function runConnected(
  context: Context,
  app: string,
  words: readonly string[],
  { stdin, tty, detach, output, ...names }: ConnectedFlags,
): Promise<number> {
  if (detach) throw usageFailure('-d does not support -i and -t: the pod is deleted when the session ends.');
  if (output !== undefined)
    throw usageFailure('-o, --json and -q do not support -i and -t: the output is that of the command.');
  const { execProtocol } = await import('../../runtime/contracts/exec-channels.ts');
  const { runInContext } = await import('../exec-session.ts');
  const scope = resolveScope(context, names);
  const socket = await scope.api.open(scope.path('apps', app, 'run-session'), execProtocol, {
    ...scope.query,
    command: words,
    ...(stdin && { stdin: 'true' }),
    ...(tty && { tty: 'true' }),
  });
  if (tty) context.say('Starting a pod; it is deleted when the command ends.');
  return runInContext(context, socket, { stdin, tty, waits: true });
}

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

export const stopRunCommand = command({
  name: 'stop-run',
  args: ['app', '...runs'],
  description: 'Stop one-off runs of an app, and delete them. Sessions end.',
  flags: { ...yesFlag, ...scopeFlags },
  examples: ['svc app stop-run api api-00c0ffee00', 'svc app stop-run api api-00c0ffee00 --yes'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const paths = args.runs.map((run) => ({ run, path: scope.path('apps', args.app, `runs/${segment(run)}`) }));
    for (const { path } of paths) await scope.api.call('GET', path, appRunView, { query: scope.query });
    await confirm(context, flags, `Stop and delete ${args.runs.join(', ')} of ${args.app} in ${scope.project}?`);
    for (const { run, path } of paths) {
      await scope.api.call('DELETE', path, appRunView, { query: scope.query });
      context.say(`run ${run} is being stopped`);
    }
  },
});
