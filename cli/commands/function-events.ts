import { page } from '../../runtime/contracts/api/common.ts';
import {
  deadLettersChanged,
  deadLetterView,
  functionEventView,
  type DeadLetterView,
  type FunctionEventView,
} from '../../runtime/contracts/api/functions.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { amount, text, texts, toggle, type FlagValues } from '../flags.ts';
import { ago, span, table } from '../output.ts';
import { resolveScope } from '../scope.ts';
import { confirm } from '../prompt.ts';
import { functionKind } from './function-kind.ts';

const listFlags = {
  limit: amount('<n>', 'maximum number of results (default 20)', { min: 1, max: 500 }),
  cursor: text('<cursor>', 'continue after a previous list'),
  ...scopeFlags,
};

/** The time until an event is due; undefined while it is being delivered. */
function dueText({ state, dueAt }: FunctionEventView, now: Date): string | undefined {
  const seconds = Math.round((Date.parse(dueAt) - now.getTime()) / 1000);
  if (state === 'delivering') return undefined;
  return seconds > 0 ? `in ${span(seconds)}` : 'now';
}

const printCursor = (context: Context, cursor: string | undefined) => {
  if (cursor !== undefined) context.say(`more results: --cursor ${cursor}`);
};

export const eventsCommand = command({
  name: 'events',
  args: ['function'],
  description: 'List the pending events of a function, in source order.',
  flags: listFlags,
  data: functionEventView,
  watch: true,
  examples: ['svc function events import', 'svc function events import --limit 100 -o json'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const query = { ...scope.query, limit: flags.limit ?? 20, cursor: flags.cursor };
    const path = scope.path('functions', args.function, 'events');
    const { items, nextCursor } = await scope.api.call('GET', path, page(functionEventView), { query });
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'ID', value: ({ id }) => id },
          { title: 'EVENT', value: ({ event }) => event },
          { title: 'STATE', value: ({ state }) => state },
          { title: 'FOUND', value: ({ foundAt }) => ago(foundAt, now) },
          { title: 'FAILURES', value: ({ failures }) => failures },
          { title: 'DUE', value: (event) => dueText(event, now) },
          { title: 'LAST ERROR', value: ({ lastError }) => lastError },
        ]),
        names: items.map(({ id }) => id),
      },
      flags.output,
    );
    printCursor(context, nextCursor);
    const { events } = await functionKind.read(scope, args.function);
    if (events?.error !== undefined) context.say(`the data source ${events.source}: ${events.error}`);
  },
});

const list = command({
  name: 'list',
  args: ['function'],
  description: 'List the dead letters of a function, newest first (payloads with -o json).',
  flags: listFlags,
  data: deadLetterView,
  watch: true,
  examples: ['svc function dead-letters list import', 'svc function dead-letters list import -o json'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const query = { ...scope.query, limit: flags.limit ?? 20, cursor: flags.cursor };
    const path = scope.path('functions', args.function, 'dead-letters');
    const { items, nextCursor } = await scope.api.call('GET', path, page(deadLetterView), { query });
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table<DeadLetterView>(items, [
          { title: 'ID', value: ({ id }) => id },
          { title: 'EVENT', value: ({ event }) => event },
          { title: 'FAILED', value: ({ deadAt }) => ago(deadAt, now) },
          { title: 'FAILURES', value: ({ failures }) => failures },
          { title: 'LAST ERROR', value: ({ lastError }) => lastError },
        ]),
        names: items.map(({ id }) => id),
      },
      flags.output,
    );
    printCursor(context, nextCursor);
  },
});

const choiceFlags = { id: texts('<id>', 'ID of a dead letter, from the list'), all: toggle('all dead letters') };

/** The dead letters that the flags select. @throws Failure (usage) unless either `--id` or `--all` is set */
function selectionOf({ id, all }: FlagValues<typeof choiceFlags>): { all: true } | { ids: readonly string[] } {
  if (all === id.length > 0) throw usageFailure('Use either --id <id> or --all.');
  const invalid = id.find((typed) => !/^\d{1,18}$/.test(typed));
  if (invalid !== undefined) throw usageFailure(`--id takes the number of a dead letter, not "${invalid}".`);
  return all ? { all } : { ids: id };
}

/** Reports how many dead letters were changed, and how many IDs do not exist. @throws Failure `not_found` when none does */
function report(context: Context, count: number, ids: readonly string[], done: string): void {
  const missing = new Set(ids).size - count;
  const absent = 'not dead letters, or no longer stored';
  if (count === 0 && missing > 0) {
    throw new Failure(`The IDs are ${absent}. List them with: svc function dead-letters list`, { code: 'not_found' });
  }
  const letters = count === 1 ? '1 dead letter' : `${count} dead letters`;
  context.say(`${letters} ${done}${missing > 0 ? `; ${missing} of the IDs are ${absent}` : ''}`);
}

const redrive = command({
  name: 'redrive',
  args: ['function'],
  description: 'Deliver dead letters again.',
  flags: { ...choiceFlags, ...scopeFlags },
  examples: [
    'svc function dead-letters redrive import --all',
    'svc function dead-letters redrive import --id 17 --id 18',
  ],
  async run({ context, args, flags }) {
    const body = selectionOf(flags);
    const scope = resolveScope(context, flags);
    const path = scope.path('functions', args.function, 'dead-letters/redrive');
    const { count } = await scope.api.call('POST', path, deadLettersChanged, { query: scope.query, body });
    report(context, count, flags.id, 'queued for delivery');
  },
});

const purge = command({
  name: 'purge',
  args: ['function'],
  description: 'Delete dead letters and their payloads. They are not delivered again.',
  flags: { ...choiceFlags, ...yesFlag, ...scopeFlags },
  examples: ['svc function dead-letters purge import --id 17', 'svc function dead-letters purge import --all --yes'],
  async run({ context, args, flags }) {
    const body = selectionOf(flags);
    const scope = resolveScope(context, flags);
    const which = flags.all ? 'all dead letters' : `the dead letters ${flags.id.join(', ')}`;
    await confirm(context, flags, `Delete ${which} of ${args.function}?`);
    const path = scope.path('functions', args.function, 'dead-letters/purge');
    const { count } = await scope.api.call('POST', path, deadLettersChanged, { query: scope.query, body });
    report(context, count, flags.id, 'deleted');
  },
});

export const deadLetterCommands: Commands = { commands: [list, redrive, purge] };
