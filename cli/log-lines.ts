import { z } from 'zod';
import {
  logEnd,
  logLine,
  logLines,
  logNotice,
  sinceDefaultSeconds,
  type LogLineView,
  type LogNotice,
  type LogStoreState,
} from '../runtime/contracts/api/logs.ts';
import { createLogPosition, type LogPosition } from '../runtime/domain/log-position.ts';
import { runMark, type RunMark } from '../runtime/contracts/api/runs.ts';
import type { Context } from './context.ts';
import { Failure, usageFailure } from './failure.ts';
import type { FlagValues } from './flags.ts';
import type { lineFlags, selectionFlags } from './log-flags.ts';
import type { OutputFormat } from './output.ts';
import type { Scope } from './scope.ts';
import { isTemporary } from './wait.ts';

/** The first and the longest pause before a stream is reopened. */
const pauseMs = 500;
const pauseMaxMs = 10_000;
const overlapMs = 5_000;
/** What `--at` shows before and after the time. */
const nearMs = 5_000;

type LineFlagValues = FlagValues<typeof lineFlags> &
  Partial<FlagValues<typeof selectionFlags>> & { output: OutputFormat | undefined };

/** Whether a flag selects lines of all runs, not of the newest. */
export function selectsLines(flags: Partial<FlagValues<typeof selectionFlags>>): boolean {
  const { until, at, search, level, pod, download = false } = flags;
  return download || [until, at, search, level, pod].some((value) => value !== undefined);
}

/** Prints the logs of a workload, with `follow` until Ctrl-C. @throws Failure */
export async function printLines(
  context: Context,
  flags: LineFlagValues,
  scope: Scope,
  { path, workload }: { path: string; workload: string },
): Promise<void> {
  const { follow, previous, since, until, at, search, level, pod, download = false, output } = flags;
  if (follow && previous) throw usageFailure('Use either -f or --previous; terminated containers write no new lines.');
  if (follow && (download || until !== undefined))
    throw usageFailure('-f has no end: use it without --download and --until.');
  if (at !== undefined && (follow || previous || since !== undefined || until !== undefined))
    throw usageFailure('--at selects the range itself: use it without -f, --previous, --since and --until.');
  if (!previous && until !== undefined && until >= (since ?? sinceDefaultSeconds))
    throw usageFailure('--until must be less than --since (default 1h), or no line is in the range.');
  checkFollowOutput({ follow: follow || download, output, ...(download && { by: '--download' }) });
  const near = at === undefined ? { sinceSeconds: since } : rangeAround(at);
  const selection = { ...scope.query, ...near, search, level, pod };
  if (follow) {
    const query = { ...selection, follow: 'true', tail: flags.tail ?? 100 };
    await followLogs(context, scope, { path, query }, { output, format: prefixed });
    return;
  }
  const end =
    until === undefined ? {} : { until: new Date(context.clock.now().getTime() - until * 1000).toISOString() };
  if (download) {
    await downloadLines(context, scope, { path, query: { ...selection, ...end, all: 'true' } }, output);
    return;
  }
  const query = { ...selection, ...end, tail: flags.tail, ...(previous && { previous: 'true' }) };
  const { items, truncated, ...store } = await scope.api.call('GET', path, logLines, { query });
  const pods = [...new Set(items.map((item) => item.pod))];
  if (items.length === 0) context.say(emptyLogMessage(workload, flags, store.store));
  // In the last hour, few expect the lines of pods that are gone.
  else if (
    store.store === 'disabled' &&
    ((since ?? 0) > sinceDefaultSeconds || until !== undefined || at !== undefined)
  )
    context.say(onlyPods);
  if (truncated)
    context.say(
      'the log is truncated: it has the last MiB of each pod and 15 seconds of search; with a log store, --download prints all',
    );
  sayWhatIsMissing(context, store);
  const table = items.map((item) => (pods.length > 1 ? prefixed(item) : item.line)).join('\n');
  context.print({ data: items, table, names: pods }, output);
}

function rangeAround(time: string): { sinceTime: string; until: string } {
  const at = Date.parse(time);
  return { sinceTime: new Date(at - nearMs).toISOString(), until: new Date(at + nearMs).toISOString() };
}

/** Prints every line of a range. @throws Failure `log_cut` when the stream ends before its end */
async function downloadLines(
  context: Context,
  { api }: Scope,
  { path, query }: { path: string; query: Query },
  output: OutputFormat | undefined,
): Promise<void> {
  const item = z.union([logEnd, logLine]);
  for await (const text of api.lines(path, query)) {
    const { data } = item.safeParse(text === '' ? undefined : JSON.parse(text));
    if (!data) continue;
    if ('end' in data) {
      if (data.truncated) context.say('the log is truncated: only the last MiB of each pod is shown');
      if (data.store === 'disabled') context.say(onlyPods);
      sayWhatIsMissing(context, data);
      return;
    }
    context.stdout.write(
      output === 'json' ? context.formatter.line(data) : `${output === 'name' ? data.pod : data.line}\n`,
    );
  }
  throw new Failure('The log stream was cut before its end.', { code: 'log_cut', hint: 'run the command again' });
}

const onlyPods = 'without the log store, only pods that exist have logs';

/** What the log store has of a range. */
interface StoredRange {
  store?: LogStoreState | undefined;
  keptSince?: string | undefined;
}

/** Says when the log store cannot give all lines of the range. @param name the workload, if there are several */
export function sayWhatIsMissing({ say }: Context, { store, keptSince }: StoredRange, name?: string): void {
  if (store === 'unavailable') say('the log store is unavailable: only logs of pods that still exist are shown');
  const prefix = name === undefined ? '' : `${name}: `;
  if (keptSince !== undefined) say(`${prefix}lines before ${keptSince.slice(0, 19)}Z are deleted`);
}

function emptyLogMessage(
  workload: string,
  { previous, since, at, search, level, pod }: LineFlagValues,
  store: LogStoreState | undefined,
): string {
  if (previous) return `no logs of terminated containers of ${workload} are available`;
  const range = since === undefined && at === undefined ? 'the last hour; see --since' : 'that time';
  const reason = store === 'disabled' ? `; ${onlyPods}` : '';
  if ([search, level, pod].some((value) => value !== undefined)) {
    return `no lines of ${workload} match --search, --level and --pod in ${range}${reason}`;
  }
  return `${workload} has no logs in ${range}${reason}`;
}

/** @param by the option or command that streams @throws Failure (usage) for an output format that cannot be streamed */
export function checkFollowOutput({
  follow,
  output,
  by = '-f',
}: {
  follow: boolean;
  output: OutputFormat | undefined;
  by?: string;
}): void {
  if (follow && output === 'yaml')
    throw usageFailure(`${by} does not support -o yaml; use -o json for one object per line.`);
}

function prefixed({ pod, line }: LogLineView): string {
  return `${pod} | ${line}`;
}

const followedLine = z.union([runMark, logLine, logNotice]);

/** What is said when a log is followed without the store, and when its lines are there. */
const noticeTexts = {
  unavailable: 'the log store does not answer: logs of pods that are gone are missing until it does',
  ok: 'the log store answers again; the missing logs were shown',
} as const;

type Query = Record<string, string | number | undefined>;

/**
 * Streams log lines: of a run until it ends, otherwise without end. Reopens a stream that ends or breaks, such as when the
 * API is replaced or a proxy times out, and continues after the last line.
 * @returns how the run ended
 * @throws Failure when the API rejects the request
 */
export async function followLogs(
  { clock, say, stdout, formatter }: Context,
  { api }: Scope,
  { path, query }: { path: string; query: Query },
  { output, format, name }: { output: OutputFormat | undefined; format: (line: LogLineView) => string; name?: string },
): Promise<RunMark> {
  const reader = createStreamReader();
  const textOf = (line: LogLineView) =>
    output === 'json'
      ? formatter.line(name === undefined ? line : { workload: name, ...line })
      : `${output === 'name' ? line.pod : format(line)}\n`;
  let failures = 0;
  for (;;) {
    try {
      for await (const text of api.lines(path, { ...query, ...reader.reopen() })) {
        failures = 0;
        const item = reader.read(text);
        if (item && 'run' in item) return item;
        if (item && 'store' in item)
          say(name === undefined ? noticeTexts[item.store] : `${name}: ${noticeTexts[item.store]}`);
        else if (item) stdout.write(textOf(item));
      }
    } catch (error) {
      if (!isTemporary(error)) throw error;
      failures += 1;
      if (failures === 1) say('the log stream was interrupted; reconnecting');
    }
    await clock.sleep(Math.min(pauseMaxMs, pauseMs * 2 ** Math.max(0, failures - 1)));
  }
}

/** Reads the items of a log stream that may be reopened. */
function createStreamReader() {
  const positions = new Map<string, LogPosition>();
  let newest = '';
  let run: string | undefined;
  let since: string | undefined;
  let isReopened = false;
  let isWithoutStore = false;
  return {
    /** Call it before the stream is opened. @returns the parameters of a request that continues it */
    reopen(): Query {
      for (const position of positions.values()) position.reopen();
      isReopened = newest !== '';
      // Without the store, lines of pods that are gone are still missing. The next stream says whether it answers.
      if (isReopened && !isWithoutStore) since = before(newest);
      isWithoutStore = false;
      return {
        ...(since !== undefined && { sinceSeconds: undefined, sinceTime: since, tail: undefined }),
        // Names the run, because a newer one may have started.
        ...(run !== undefined && { run }),
      };
    },

    /** @returns a new line, a notice, or how the run ended; undefined for anything else, such as a repeated line */
    read(text: string): LogLineView | RunMark | LogNotice | undefined {
      const { data } = followedLine.safeParse(text === '' ? undefined : JSON.parse(text));
      if (!data) return undefined;
      if ('run' in data) {
        ({ run } = data);
        return data.ended === undefined ? undefined : data;
      }
      if ('store' in data) {
        const isNews = isWithoutStore !== (data.store === 'unavailable');
        isWithoutStore = data.store === 'unavailable';
        return isNews ? data : undefined;
      }
      const { pod, time, late = false } = data;
      const position = positions.get(pod) ?? createLogPosition();
      positions.set(pod, position);
      // A late line of an earlier container: after a reconnect, it may have been printed.
      if (late && time < (position.time() ?? '')) return isReopened ? undefined : data;
      if (!position.isNew(time)) return undefined;
      if (time > newest) newest = time;
      return data;
    },
  };
}

/** A time shortly before another one: lines of several pods may arrive out of order, since the clocks of nodes differ. */
function before(time: string): string {
  return new Date(Date.parse(time) - overlapMs).toISOString();
}
