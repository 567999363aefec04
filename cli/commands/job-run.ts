import { jobLogs, runAccepted, runView, type RunView } from '../../runtime/contracts/api/jobs.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { Failure } from '../failure.ts';
import { amount, text } from '../flags.ts';
import { ago, fields, table, type Column, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { waitFlags, waitFor } from '../wait.ts';

function shownRun(run: RunView): Shown {
  return {
    data: run,
    table: fields([
      ['Run', run.name],
      ['Status', run.status],
      ['Message', run.message],
      ['Trigger', run.trigger],
      ['Asked by', run.actor],
      ['Took', took(run)],
    ]),
    names: [run.name],
  };
}

/** How long a run took: `12 s`; undefined before it has ended. */
function took({ startedAt, endedAt }: RunView): string | undefined {
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return `${Math.max(0, Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1000))} s`;
}

const readRun = (place: Place, job: string, run: string) =>
  place.api.call('GET', place.path('jobs', job, `runs/${encodeURIComponent(run)}`), runView, { query: place.query });

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
    const run = await waitFor(
      context,
      flags,
      async () => {
        const found = await readRun(place, args.job, accepted.id);
        if (found.status === 'succeeded' || found.status === 'failed') return { done: found };
        const why = found.message === undefined ? '' : ` (${found.message.replace(/\.$/, '')})`;
        return { progress: `${found.name}: ${found.status}${why}` };
      },
      `it goes on: ${logs}`,
    );
    if (run.status === 'failed') {
      throw new Failure(`Run ${run.name} failed: ${run.message ?? 'see its log'}`, { code: 'run_failed', hint: logs });
    }
    context.print(shownRun(run), flags.output);
  },
});

export const runsCommand = command({
  name: 'runs',
  args: ['job'],
  description: 'List the runs of a job that are kept, newest first.',
  flags: scopeFlags,
  examples: ['svc job runs report', 'svc job runs report -o json'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const runs = await place.api.list(place.path('jobs', args.job, 'runs'), runView, place.query);
    const now = context.clock.now();
    const columns: Column<RunView>[] = [
      { title: 'RUN', value: ({ name }) => name },
      { title: 'STATUS', value: ({ status }) => status },
      { title: 'TRIGGER', value: ({ trigger, actor }) => (actor === undefined ? trigger : `${trigger} (${actor})`) },
      { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
      { title: 'TOOK', value: took },
      { title: 'MESSAGE', value: ({ message }) => message },
    ];
    context.print({ data: runs, table: table(runs, columns), names: runs.map(({ name }) => name) }, flags.output);
  },
});

export const logsCommand = command({
  name: 'logs',
  args: ['job'],
  description: 'Show what the newest run of a job printed, or another one.',
  flags: {
    run: text('<run>', 'name of the run (default: the newest)'),
    tail: amount('<lines>', 'lines from the end, of each attempt (default 1000)', { min: 1, max: 10_000 }),
    ...scopeFlags,
  },
  examples: ['svc job logs report', 'svc job logs report --run report-29384750 --tail 50'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const query = { ...place.query, run: flags.run, tail: flags.tail };
    const logs = await place.api.call('GET', place.path('jobs', args.job, 'logs'), jobLogs, { query });
    const several = logs.pods.length > 1;
    for (const [index, { name, log }] of logs.pods.entries()) {
      if (several) context.say(`attempt ${index + 1}, pod ${name}`);
      if (log === undefined) context.say(`pod ${name} has no log yet`);
    }
    if (logs.pods.length === 0) context.say(`run ${logs.run} has no pods: it has not begun, or they are gone`);
    const printed = logs.pods.map(({ log = '' }) => log.replace(/\n$/, '')).filter((log) => log !== '');
    context.print({ data: logs, table: printed.join('\n'), names: [logs.run] }, flags.output);
  },
});
