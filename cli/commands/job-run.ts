import { anyRunView } from '../../runtime/contracts/api/runs.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { amount, text, toggle } from '../flags.ts';
import { lineFlags, selectionFlags } from '../log-flags.ts';
import { printLines, selectsLines } from '../log-lines.ts';
import { resolveScope } from '../scope.ts';
import { printLogs, printRuns, startRun } from '../runs.ts';
import { waitFlags } from '../wait.ts';

export const runCommand = command({
  name: 'run',
  args: ['job'],
  description: 'Run a job now and wait for the result.',
  flags: { ...waitFlags, ...scopeFlags },
  examples: ['svc job run report', 'svc job run report --no-wait'],
  run: ({ context, args, flags }) =>
    startRun(context, flags, { kind: 'job', name: args.job, path: 'runs', noun: 'run' }),
});

export const runsCommand = command({
  name: 'runs',
  args: ['job'],
  description: 'List the stored runs of a job, newest first.',
  flags: scopeFlags,
  data: anyRunView,
  watch: true,
  examples: ['svc job runs report', 'svc job runs report -o json'],
  run: ({ context, args, flags }) => printRuns(context, flags, 'jobs', args.job),
});

export const logsCommand = command({
  name: 'logs',
  args: ['job'],
  description: 'Show the logs of the newest run of a job, or of all stored runs with --since.',
  flags: {
    follow: toggle('stream new lines until the run ends; with --since, until Ctrl-C', { short: 'f' }),
    since: lineFlags.since,
    run: text('<run>', 'run (default: the newest)'),
    tail: amount('<lines>', 'last lines of each attempt (default 1000)', { min: 1, max: 10_000 }),
    ...selectionFlags,
    ...scopeFlags,
  },
  examples: [
    'svc job logs report -f',
    'svc job logs report --since 7d',
    'svc job logs report --run report-29384750 --tail 50',
  ],
  async run({ context, args, flags }) {
    if (flags.since === undefined && !selectsLines(flags)) {
      await printLogs(context, flags, 'jobs', args.job);
      return;
    }
    if (flags.run !== undefined)
      throw usageFailure('--run cannot be combined with flags that select lines of all runs.');
    const scope = resolveScope(context, flags);
    const source = { path: scope.path('jobs', args.job, 'logs'), workload: args.job };
    await printLines(context, { ...flags, previous: false }, scope, source);
  },
});
