import { page } from '../../runtime/contracts/api/common.ts';
import {
  deadLettersChanged,
  deadLetterView,
  functionEventView,
  type DeadLetterView,
  type FunctionEventView,
} from '../../runtime/contracts/api/functions.ts';
import { command, type Group } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { amount, text, texts, toggle, type FlagValues } from '../flags.ts';
import { ago, span, table } from '../output.ts';
import { placeOf } from '../place.ts';
import { confirm } from '../prompt.ts';
import { readFunction } from './function-wait.ts';

const listFlags = {
  limit: amount('<n>', 'at most so many (default 20)', { min: 1, max: 500 }),
  cursor: text('<cursor>', 'go on after the list that ended with it'),
  ...scopeFlags,
};

/** Until when an event waits, if it does. */
function due({ state, dueAt }: FunctionEventView, now: Date): string | undefined {
  const seconds = Math.round((Date.parse(dueAt) - now.getTime()) / 1000);
  if (state === 'delivering') return undefined;
  return seconds > 0 ? `in ${span(seconds)}` : 'now';
}

const sayMore = (context: Context, cursor: string | undefined) => {
  if (cursor !== undefined) context.say(`there are more: --cursor ${cursor}`);
};

export const eventsCommand = command({
  name: 'events',
  args: ['function'],
  description: 'List the events of a function that are not done, in the order of their source.',
  flags: listFlags,
  examples: ['svc function events import', 'svc function events import --limit 100 -o json'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const query = { ...place.query, limit: flags.limit ?? 20, cursor: flags.cursor };
    const path = place.path('functions', args.function, 'events');
    const { items, nextCursor } = await place.api.call('GET', path, page(functionEventView), { query });
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
          { title: 'DUE', value: (event) => due(event, now) },
          { title: 'LAST ERROR', value: ({ lastError }) => lastError },
        ]),
        names: items.map(({ id }) => id),
      },
      flags.output,
    );
    sayMore(context, nextCursor);
    const { events } = await readFunction(place, args.function);
    if (events?.error !== undefined) context.say(`the data source ${events.source}: ${events.error}`);
  },
});

const list = command({
  name: 'list',
  args: ['function'],
  description: 'List the events of a function that were given up, newest first; -o json shows what was delivered.',
  flags: listFlags,
  examples: ['svc function dead-letters list import', 'svc function dead-letters list import -o json'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const query = { ...place.query, limit: flags.limit ?? 20, cursor: flags.cursor };
    const path = place.path('functions', args.function, 'dead-letters');
    const { items, nextCursor } = await place.api.call('GET', path, page(deadLetterView), { query });
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table<DeadLetterView>(items, [
          { title: 'ID', value: ({ id }) => id },
          { title: 'EVENT', value: ({ event }) => event },
          { title: 'GIVEN UP', value: ({ deadAt }) => ago(deadAt, now) },
          { title: 'FAILURES', value: ({ failures }) => failures },
          { title: 'LAST ERROR', value: ({ lastError }) => lastError },
        ]),
        names: items.map(({ id }) => id),
      },
      flags.output,
    );
    sayMore(context, nextCursor);
  },
});

const choiceFlags = {
  id: texts('<id>', 'dead letter, as the list shows its ID'),
  all: toggle('all of them'),
};

/** @throws Failure (usage) unless some are chosen, or all */
function chosen({ id, all }: FlagValues<typeof choiceFlags>): { all: true } | { ids: readonly string[] } {
  if (all === id.length > 0) throw usageFailure('Give which ones with --id <id>, or --all.');
  const odd = id.find((typed) => !/^\d{1,18}$/.test(typed));
  if (odd !== undefined) throw usageFailure(`--id takes the ID of a dead letter, a number; not "${odd}".`);
  return all ? { all } : { ids: id };
}

/** What was done, and that some of those that were named were not there. @throws Failure `not_found` when none was */
function report(context: Context, count: number, ids: readonly string[], done: string): void {
  const missing = new Set(ids).size - count;
  const absent = 'no dead letter, or nothing of it is kept';
  if (count === 0 && missing > 0) {
    throw new Failure(`Of those named there is ${absent}; see the IDs in \`svc function dead-letters list\`.`, {
      code: 'not_found',
    });
  }
  const letters = count === 1 ? '1 dead letter' : `${count} dead letters`;
  context.say(`${letters} ${done}${missing > 0 ? `; ${missing} of those named: ${absent}` : ''}`);
}

const redrive = command({
  name: 'redrive',
  args: ['function'],
  description: 'Have dead letters delivered again, as if they had just been found.',
  flags: { ...choiceFlags, ...scopeFlags },
  examples: [
    'svc function dead-letters redrive import --all',
    'svc function dead-letters redrive import --id 17 --id 18',
  ],
  async run({ context, args, flags }) {
    const body = chosen(flags);
    const place = placeOf(context, flags);
    const path = place.path('functions', args.function, 'dead-letters/redrive');
    const { count } = await place.api.call('POST', path, deadLettersChanged, { query: place.query, body });
    report(context, count, flags.id, 'to be delivered again');
  },
});

const purge = command({
  name: 'purge',
  args: ['function'],
  description: 'Forget dead letters and their content; they are not delivered again while their source has them.',
  flags: { ...choiceFlags, ...yesFlag, ...scopeFlags },
  examples: ['svc function dead-letters purge import --id 17', 'svc function dead-letters purge import --all --yes'],
  async run({ context, args, flags }) {
    const body = chosen(flags);
    const place = placeOf(context, flags);
    const which = flags.all ? 'all dead letters' : `the dead letters ${flags.id.join(', ')}`;
    await confirm(context, flags, `Forget ${which} of ${args.function}?`);
    const path = place.path('functions', args.function, 'dead-letters/purge');
    const { count } = await place.api.call('POST', path, deadLettersChanged, { query: place.query, body });
    report(context, count, flags.id, 'forgotten');
  },
});

export const deadLettersGroup: Group = {
  name: 'dead-letters',
  description: 'Events that a function refused or failed at too often.',
  commands: [list, redrive, purge],
};
