import type { LogLineView } from '../runtime/contracts/api/logs.ts';
import { anyRunView, runAccepted, runLogs, type AnyRunView } from '../runtime/contracts/api/runs.ts';
import { segment } from './client.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import { checkFollowOutput, followLogs } from './log-lines.ts';
import { ago, fields, table, type Column, type OutputFormat, type Output } from './output.ts';
import { resolveScope, type Scope } from './scope.ts';
import { waitFor, type WaitFlags } from './wait.ts';

/** Workloads with runs. */
type Collection = 'apps' | 'jobs' | 'functions';

/** One run. */
function runOutput(run: AnyRunView): Output {
  return {
    data: run,
    table: fields([
      ['Run', run.name],
      ['Status', run.status],
      ['Message', run.message],
      ['Trigger', run.trigger],
      ['Started by', run.actor],
      ['Took', durationText(run)],
    ]),
    names: [run.name],
  };
}

/** The duration of an ended run: `12 s`. */
function durationText({ startedAt, endedAt }: AnyRunView): string | undefined {
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return `${Math.max(0, Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1000))} s`;
}

/** Waits until a run ends. @param logs the command that shows its logs @throws Failure `run_failed` */
async function waitForRun(
  context: Context,
  flags: WaitFlags,
  scope: Scope,
  { collection, name, run, logs }: { collection: Collection; name: string; run: string; logs: string },
): Promise<AnyRunView> {
  const path = scope.path(collection, name, `runs/${segment(run)}`);
  const ended = await waitFor(
    context,
    flags,
    async () => {
      const current = await scope.api.call('GET', path, anyRunView, { query: scope.query });
      if (current.status === 'succeeded' || current.status === 'failed') return { done: current };
      const reason = current.message === undefined ? '' : ` (${current.message.replace(/\.$/, '')})`;
      return { progress: `${current.name}: ${current.status}${reason}` };
    },
    logs,
  );
  if (ended.status === 'failed') {
    throw new Failure(`Run ${ended.name} failed: ${ended.message ?? 'see its logs'}`, {
      code: 'run_failed',
      hint: logs,
    });
  }
  return ended;
}

interface RunFlags {
  api: string | undefined;
  project: string | undefined;
  environment: string | undefined;
  output: OutputFormat | undefined;
}

/** Starts a run and prints its result, or without `--wait` that it is accepted. @throws Failure `run_failed` */
export async function startRun(
  context: Context,
  flags: RunFlags & WaitFlags,
  { kind, name, path, noun }: { kind: 'job' | 'function'; name: string; path: 'runs' | 'test-runs'; noun: string },
): Promise<void> {
  const scope = resolveScope(context, flags);
  const collection = `${kind}s` as const;
  const accepted = await scope.api.call('POST', scope.path(collection, name, path), runAccepted, {
    query: scope.query,
  });
  if (!flags.wait) {
    const text = `${noun} ${accepted.id} is accepted`;
    context.print({ data: accepted, table: text, names: [accepted.id] }, flags.output);
    return;
  }
  const logs = `svc ${kind} logs ${name} --run ${accepted.id} ${scope.flags}`;
  const run = await waitForRun(context, flags, scope, { collection, name, run: accepted.id, logs });
  context.print(runOutput(run), flags.output);
}

/** Prints the runs of a workload, newest first. */
export async function printRuns(
  context: Context,
  flags: RunFlags,
  collection: Collection,
  name: string,
): Promise<void> {
  const scope = resolveScope(context, flags);
  const runs = await scope.api.list(scope.path(collection, name, 'runs'), anyRunView, scope.query);
  const now = context.clock.now();
  const columns: Column<AnyRunView>[] = [
    { title: 'RUN', value: (run) => run.name },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'TRIGGER', value: ({ trigger, actor }) => (actor === undefined ? trigger : `${trigger} (${actor})`) },
    { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
    { title: 'TOOK', value: durationText },
    ...(runs.some(({ command }) => command)
      ? [{ title: 'COMMAND', value: ({ command }: AnyRunView) => command?.join(' ') }]
      : []),
    { title: 'MESSAGE', value: ({ message }) => message },
  ];
  context.print({ data: runs, table: table(runs, columns), names: runs.map((run) => run.name) }, flags.output);
}

/** Prints the log of a run until it ends, and says on stderr when another attempt begins. @returns how it ended */
export function followRun(
  context: Context,
  scope: Scope,
  { path, query }: { path: string; query: Record<string, string | number | undefined> },
  output: OutputFormat | undefined,
) {
  const attempts = new Set<string>();
  const format = ({ pod, line }: LogLineView) => {
    if (!attempts.has(pod) && attempts.size > 0) context.say(`attempt ${attempts.size + 1}, pod ${pod}`);
    attempts.add(pod);
    return line;
  };
  return followLogs(context, scope, { path, query: { ...query, follow: 'true' } }, { output, format });
}

/** Prints the logs of a run, with `follow` until it ends; the names of its pods go to stderr. */
export async function printLogs(
  context: Context,
  flags: RunFlags & { run: string | undefined; tail: number | undefined; follow: boolean },
  collection: Collection,
  workload: string,
): Promise<void> {
  checkFollowOutput(flags);
  const scope = resolveScope(context, flags);
  const query = { ...scope.query, run: flags.run, tail: flags.tail };
  const path = scope.path(collection, workload, 'run-logs');
  if (flags.follow) {
    const { run, ended, message } = await followRun(context, scope, { path, query }, flags.output);
    const reason = message === undefined ? '' : `: ${message}`;
    context.say(`run ${run} ${ended === 'removed' ? 'was deleted' : ended}${reason}`);
    return;
  }
  const logs = await scope.api.call('GET', path, runLogs, { query });
  const several = logs.pods.length > 1;
  for (const [index, { name, log, truncated }] of logs.pods.entries()) {
    if (several) context.say(`attempt ${index + 1}, pod ${name}`);
    if (log === undefined) context.say(`pod ${name} has no logs yet`);
    if (truncated) context.say(`the log of pod ${name} is truncated`);
  }
  if (logs.pods.length === 0) context.say(`run ${logs.run} has no pods: it has not started, or its pods were deleted`);
  const printed = logs.pods.map(({ log = '' }) => log.replace(/\n$/, '')).filter((log) => log !== '');
  context.print({ data: logs, table: printed.join('\n'), names: [logs.run] }, flags.output);
}
