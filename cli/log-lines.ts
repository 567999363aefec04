import { z } from 'zod';
import { logLine, logLines, sinceMaxSeconds, type LogLineView } from '../runtime/contracts/api/logs.ts';
import { runMark, type RunMark } from '../runtime/contracts/api/runs.ts';
import type { Context } from './context.ts';
import { Failure, usageFailure } from './failure.ts';
import { amount, duration, toggle, type FlagValues } from './flags.ts';
import type { OutputFormat } from './output.ts';
import type { Place } from './place.ts';

/** Between two tries to get the stream back, in ms: from the first to the last. */
const pauseMs = 500;
const pauseMaxMs = 10_000;
const overlapMs = 5_000;

/** Which lines of a workload's pods. */
export const lineFlags = {
  follow: toggle('go on until Ctrl-C', { short: 'f' }),
  since: duration('<duration>', 'not older than this, such as 15m, 6h or 7d', { max: sinceMaxSeconds }),
  tail: amount('<lines>', 'lines from the end, of each pod (default 1000; with -f 100)', { min: 1, max: 10_000 }),
  previous: toggle("of each container's life before this one"),
};

/** Prints what the pods of a workload printed; with `follow` until Ctrl-C. @throws Failure */
export async function printLines(
  context: Context,
  flags: FlagValues<typeof lineFlags> & { output: OutputFormat | undefined },
  place: Place,
  { path, workload }: { path: string; workload: string },
): Promise<void> {
  const { follow, previous, since: sinceSeconds, output } = flags;
  if (follow && previous) throw usageFailure('Give -f or --previous: what has ended prints no more.');
  checkFollowed(flags);
  if (follow) {
    const query = { ...place.query, follow: 'true', tail: flags.tail ?? 100, sinceSeconds };
    await followLogs(context, place, path, query, { output, shown: prefixed });
    return;
  }
  const query = { ...place.query, tail: flags.tail, sinceSeconds, ...(previous && { previous: 'true' }) };
  const { items, truncated } = await place.api.call('GET', path, logLines, { query });
  const pods = [...new Set(items.map(({ pod }) => pod))];
  if (items.length === 0) context.say(nothingPrinted(workload, flags));
  if (truncated) context.say('the beginning of the log is left out: of each pod the last MiB is shown');
  const table = items.map((one) => (pods.length > 1 ? prefixed(one) : one.line)).join('\n');
  context.print({ data: items, table, names: pods }, output);
}

function nothingPrinted(
  workload: string,
  { previous, since }: { previous: boolean; since: number | undefined },
): string {
  if (previous) return `no container of ${workload} has ended, or what it printed is gone`;
  return since === undefined ? `${workload} has printed nothing yet` : `${workload} has printed nothing in that time`;
}

/** @throws Failure (usage) for an output that cannot go on */
export function checkFollowed({ follow, output }: { follow: boolean; output: OutputFormat | undefined }): void {
  if (follow && output === 'yaml') throw usageFailure('With -f give -o json: an object for each line.');
}

function prefixed({ pod, line }: LogLineView): string {
  return `${pod} | ${line}`;
}

const followedLine = z.union([runMark, logLine]);

type Query = Record<string, string | number | undefined>;

/**
 * Prints lines as they come: of a run until it has ended, otherwise for ever. A stream that ends or is cut is asked for
 * again, from where it was: the API may be replaced meanwhile, a proxy may lose its patience.
 * @returns how the run ended
 * @throws Failure when the API refuses
 */
export async function followLogs(
  { clock, say, stdout }: Context,
  { api }: Place,
  path: string,
  asked: Query,
  { output, shown }: { output: OutputFormat | undefined; shown: (line: LogLineView) => string },
): Promise<RunMark> {
  const last = new Map<string, string>();
  let newest = '';
  let run: string | undefined;
  let failures = 0;
  for (;;) {
    const from = newest === '' ? {} : { sinceSeconds: undefined, sinceTime: before(newest), tail: 10_000 };
    // The newest run may be another one by then.
    const query = { ...asked, ...from, ...(run !== undefined && { run }) };
    try {
      for await (const text of api.lines(path, query)) {
        failures = 0;
        const parsed = followedLine.safeParse(text === '' ? undefined : JSON.parse(text));
        if (!parsed.success) continue;
        if ('run' in parsed.data) {
          if (parsed.data.ended !== undefined) return parsed.data;
          run = parsed.data.run;
          continue;
        }
        const { pod, time } = parsed.data;
        if (time !== '' && time <= (last.get(pod) ?? '')) continue;
        last.set(pod, time);
        if (time > newest) newest = time;
        const line = output === 'json' ? JSON.stringify(parsed.data) : output === 'name' ? pod : shown(parsed.data);
        stdout.write(`${line}\n`);
      }
    } catch (error) {
      if (!isPassing(error)) throw error;
      failures += 1;
      if (failures === 1) say('the log was interrupted; asking for it again');
    }
    await clock.sleep(Math.min(pauseMaxMs, pauseMs * 2 ** Math.max(0, failures - 1)));
  }
}

/** A little before a time: the lines of several pods, on nodes with clocks of their own, may have overtaken each other. */
function before(time: string): string {
  return new Date(Date.parse(time) - overlapMs).toISOString();
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof Failure)) return false;
  const { code } = error;
  return code === 'unreachable' || code === 'unavailable' || (code?.startsWith('http_5') ?? false);
}
