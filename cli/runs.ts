import type { LogLineView } from '../runtime/contracts/api/logs.ts';
import { anyRunView, runLogs, type AnyRunView } from '../runtime/contracts/api/runs.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import { checkFollowed, followLogs } from './log-lines.ts';
import { ago, fields, table, type Column, type OutputFormat, type Shown } from './output.ts';
import { placeOf, type Place } from './place.ts';
import { waitFor, type WaitFlags } from './wait.ts';

/** What has runs. */
type Collection = 'jobs' | 'functions';

/** One run, as people see it. */
export function shownRun(run: AnyRunView): Shown {
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
function took({ startedAt, endedAt }: AnyRunView): string | undefined {
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return `${Math.max(0, Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1000))} s`;
}

/** Waits for the end of a run. @throws Failure (`run_failed`) when it fails; `logs` is the command that shows its log */
export async function waitForRun(
  context: Context,
  flags: WaitFlags,
  place: Place,
  { collection, name, run, logs }: { collection: Collection; name: string; run: string; logs: string },
): Promise<AnyRunView> {
  const path = place.path(collection, name, `runs/${encodeURIComponent(run)}`);
  const ended = await waitFor(
    context,
    flags,
    async () => {
      const found = await place.api.call('GET', path, anyRunView, { query: place.query });
      if (found.status === 'succeeded' || found.status === 'failed') return { done: found };
      const why = found.message === undefined ? '' : ` (${found.message.replace(/\.$/, '')})`;
      return { progress: `${found.name}: ${found.status}${why}` };
    },
    `it goes on: ${logs}`,
  );
  if (ended.status === 'failed') {
    throw new Failure(`Run ${ended.name} failed: ${ended.message ?? 'see its log'}`, {
      code: 'run_failed',
      hint: logs,
    });
  }
  return ended;
}

interface Scope {
  api: string | undefined;
  project: string | undefined;
  environment: string | undefined;
  output: OutputFormat | undefined;
}

/** Prints the runs of a workload that are kept, newest first. */
export async function printRuns(context: Context, flags: Scope, collection: Collection, name: string): Promise<void> {
  const place = placeOf(context, flags);
  const runs = await place.api.list(place.path(collection, name, 'runs'), anyRunView, place.query);
  const now = context.clock.now();
  const columns: Column<AnyRunView>[] = [
    { title: 'RUN', value: (run) => run.name },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'TRIGGER', value: ({ trigger, actor }) => (actor === undefined ? trigger : `${trigger} (${actor})`) },
    { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
    { title: 'TOOK', value: took },
    { title: 'MESSAGE', value: ({ message }) => message },
  ];
  context.print({ data: runs, table: table(runs, columns), names: runs.map((run) => run.name) }, flags.output);
}

/** Prints what a run printed, with `follow` until it has ended; whose words they are goes to stderr. */
export async function printLogs(
  context: Context,
  flags: Scope & { run: string | undefined; tail: number | undefined; follow: boolean },
  collection: Collection,
  workload: string,
): Promise<void> {
  checkFollowed(flags);
  const place = placeOf(context, flags);
  const query = { ...place.query, run: flags.run, tail: flags.tail };
  const path = place.path(collection, workload, collection === 'jobs' ? 'logs' : 'run-logs');
  if (flags.follow) {
    const attempts = new Set<string>();
    const shown = ({ pod, line }: LogLineView) => {
      if (!attempts.has(pod) && attempts.size > 0) context.say(`attempt ${attempts.size + 1}, pod ${pod}`);
      attempts.add(pod);
      return line;
    };
    const asked = { ...query, follow: 'true' };
    const { run, ended, message } = await followLogs(context, place, path, asked, { output: flags.output, shown });
    const why = message === undefined ? '' : `: ${message}`;
    context.say(`run ${run} ${ended === 'removed' ? 'is there no more' : ended}${why}`);
    return;
  }
  const logs = await place.api.call('GET', path, runLogs, { query });
  const several = logs.pods.length > 1;
  for (const [index, { name, log, truncated }] of logs.pods.entries()) {
    if (several) context.say(`attempt ${index + 1}, pod ${name}`);
    if (log === undefined) context.say(`pod ${name} has no log yet`);
    if (truncated) context.say(`the beginning of the log of pod ${name} is left out`);
  }
  if (logs.pods.length === 0) context.say(`run ${logs.run} has no pods: it has not begun, or they are gone`);
  const printed = logs.pods.map(({ log = '' }) => log.replace(/\n$/, '')).filter((log) => log !== '');
  context.print({ data: logs, table: printed.join('\n'), names: [logs.run] }, flags.output);
}
