import { planView, type PlanView } from '../../runtime/contracts/api/keys.ts';
import { command, type Group } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { requiredAmount } from '../flags.ts';
import { ago, table, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { confirm } from '../prompt.ts';

function shown(plans: PlanView[], data: unknown, now: Date): Shown {
  return {
    data,
    table: table(plans, [
      { title: 'PLAN', value: ({ name }) => name },
      { title: 'REQUESTS/S', value: ({ requestsPerSecond }) => requestsPerSecond },
      { title: 'BURST', value: ({ burst }) => burst },
      { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
      { title: 'ID', value: ({ id }) => id },
    ]),
    names: plans.map(({ name }) => name),
  };
}

const create = command({
  name: 'create',
  args: ['plan'],
  description: 'Create a usage plan; its limits hold for each key on it, per replica of the checker.',
  flags: {
    rate: requiredAmount('<n>', 'requests per second', { min: 0.001, max: 1_000_000, fraction: true }),
    burst: requiredAmount('<n>', 'requests at once', { min: 1, max: 1_000_000 }),
    ...scopeFlags,
  },
  examples: ['svc plan create small --rate 5 --burst 10'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const body = { name: args.plan, requestsPerSecond: flags.rate, burst: flags.burst };
    const plan = await place.api.call('POST', place.path('plans'), planView, { query: place.query, body });
    context.print(shown([plan], plan, context.clock.now()), flags.output);
  },
});

const list = command({
  name: 'list',
  description: 'List the usage plans of an environment.',
  flags: scopeFlags,
  examples: ['svc plan list'],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const items = await place.api.list(place.path('plans'), planView, place.query);
    context.print(shown(items, { items }, context.clock.now()), flags.output);
  },
});

const remove = command({
  name: 'delete',
  args: ['plan'],
  description: 'Delete a usage plan, by name or id, that no key is on.',
  flags: { ...yesFlag, ...scopeFlags },
  examples: ['svc plan delete small --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    await confirm(context, flags, `Delete plan ${args.plan}?`);
    await place.api.send('DELETE', place.path('plans', args.plan), { query: place.query });
    context.say(`plan ${args.plan} is deleted`);
  },
});

export const planGroup: Group = {
  name: 'plan',
  description: 'Usage plans: what a key may do.',
  commands: [create, list, remove],
};
