import { runAccepted } from '../../runtime/contracts/api/runs.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { amount, text, toggle } from '../flags.ts';
import { placeOf } from '../place.ts';
import { printLogs, printRuns, shownRun, waitForRun } from '../runs.ts';
import { waitFlags } from '../wait.ts';

export const runCommand = command({
  name: 'run',
  args: ['job'],
  description: 'Run a job now, and wait for its end.',
  flags: { ...waitFlags, ...scopeFlags },
  examples: ['svc job run report', 'svc job run report --no-wait'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('jobs', args.job, 'runs');
    const accepted = await place.api.call('POST', path, runAccepted, { query: place.query });
    if (!flags.wait) {
      const said = `run ${accepted.id} is accepted`;
      context.print({ data: accepted, table: said, names: [accepted.id] }, flags.output);
      return;
    }
    const logs = `svc job logs ${args.job} --run ${accepted.id} ${place.flags}`;
    const wanted = { collection: 'jobs', name: args.job, run: accepted.id, logs } as const;
    context.print(shownRun(await waitForRun(context, flags, place, wanted)), flags.output);
  },
});

export const runsCommand = command({
  name: 'runs',
  args: ['job'],
  description: 'List the runs of a job that are kept, newest first.',
  flags: scopeFlags,
  examples: ['svc job runs report', 'svc job runs report -o json'],
  run: ({ context, args, flags }) => printRuns(context, flags, 'jobs', args.job),
});

export const logsCommand = command({
  name: 'logs',
  args: ['job'],
  description: 'Show what the newest run of a job printed, or another one.',
  flags: {
    follow: toggle('go on until the run has ended', { short: 'f' }),
    run: text('<run>', 'name of the run (default: the newest)'),
    tail: amount('<lines>', 'lines from the end, of each attempt (default 1000)', { min: 1, max: 10_000 }),
    ...scopeFlags,
  },
  examples: ['svc job logs report -f', 'svc job logs report --run report-29384750 --tail 50'],
  run: ({ context, args, flags }) => printLogs(context, flags, 'jobs', args.job),
});
