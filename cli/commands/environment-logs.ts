import { z } from 'zod';
import { logLines, type LogLineView } from '../../runtime/contracts/api/logs.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import type { FlagValues } from '../flags.ts';
import type { environmentLogFlags } from '../log-flags.ts';
import { checkFollowOutput, followLogs, sayWhatIsMissing } from '../log-lines.ts';
import { resolveScope, type Scope } from '../scope.ts';

/** Each followed workload takes a request, and a user can have 50 in progress. */
const followedMax = 20;

const nameSchema = z.object({ name: z.string() });

interface Source {
  collection: 'apps' | 'functions' | 'jobs';
  name: string;
}

/** How many logs are read at once; the API reads four of a project at a time. */
const readsAtOnce = 4;

/** Runs `svc logs`. */
export async function printEnvironmentLogs(
  context: Context,
  flags: FlagValues<typeof environmentLogFlags>,
): Promise<void> {
  const { follow, since: sinceSeconds } = flags;
  checkFollowOutput(flags);
  const scope = resolveScope(context, flags);
  const sources = await sourcesOf(scope, flags);
  const width = Math.max(0, ...sources.map(({ name }) => name.length));
  const prefixed = (name: string, { line }: LogLineView) => `${name.padEnd(width)} | ${line}`;
  if (!follow) {
    const query = { ...scope.query, sinceSeconds, tail: flags.tail };
    let isWithoutStore = false;
    const read = async ({ collection, name }: (typeof sources)[number]) => {
      const answer = await scope.api.call('GET', scope.path(collection, name, 'logs'), logLines, { query });
      const { truncated, store, keptSince } = answer;
      if (truncated) context.say(`the log of ${name} is truncated: only the last MiB of each pod is shown`);
      // The store is the same for all workloads.
      sayWhatIsMissing(context, { keptSince, ...(!isWithoutStore && { store }) }, name);
      isWithoutStore ||= store === 'unavailable';
      return answer.items.map((item) => ({ workload: name, ...item }));
    };
    const answers = [];
    for (let from = 0; from < sources.length; from += readsAtOnce) {
      answers.push(...(await Promise.all(sources.slice(from, from + readsAtOnce).map(read))));
    }
    const items = answers.flat().toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
    if (items.length === 0) context.say('there are no logs');
    const table = items.map((item) => prefixed(item.workload, item)).join('\n');
    context.print({ data: items, table, names: sources.map(({ name }) => name) }, flags.output);
    return;
  }
  if (sources.length > followedMax) {
    throw usageFailure(
      `-f follows at most ${followedMax} workloads, not ${sources.length}.`,
      'choose some with --app, --function and --job',
    );
  }
  const query = { ...scope.query, follow: 'true', sinceSeconds, tail: flags.tail ?? 100 };
  await Promise.all(
    sources.map(async ({ collection, name }) => {
      const source = { path: scope.path(collection, name, 'logs'), query };
      const format = (line: LogLineView) => prefixed(name, line);
      try {
        await followLogs(context, scope, source, { output: flags.output, format, name });
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== 'not_found') throw error;
        context.say(`${name} is deleted`);
      }
    }),
  );
}

/** The workloads that the flags name, or all. */
async function sourcesOf(
  scope: Scope,
  flags: { app: readonly string[]; function: readonly string[]; job: readonly string[] },
): Promise<Source[]> {
  const selection = [
    ...flags.app.map((name): Source => ({ collection: 'apps', name })),
    ...flags.function.map((name): Source => ({ collection: 'functions', name })),
    ...flags.job.map((name): Source => ({ collection: 'jobs', name })),
  ];
  if (selection.length > 0) return selection;
  const collections = ['apps', 'functions', 'jobs'] as const;
  const lists = await Promise.all(
    collections.map(async (collection) => {
      const items = await scope.api.list(scope.path(collection), nameSchema, scope.query);
      return items.map(({ name }): Source => ({ collection, name }));
    }),
  );
  return lists.flat();
}
