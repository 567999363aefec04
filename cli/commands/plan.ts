import { planChanged, planDeleted, planView, type PlanView, type Quota } from '../../runtime/contracts/api/plans.ts';
import { periods } from '../../runtime/domain/period.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { amount, requiredAmount, text } from '../flags.ts';
import { gateWaitFlag, sayProgress } from '../gate-progress.ts';
import { ago, table, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { confirm } from '../prompt.ts';

const rateRange = { min: 0.001, max: 1_000_000, fraction: true };
const burstRange = { min: 1, max: 1_000_000 };

function shown(plans: PlanView[], data: unknown, now: Date): Shown {
  return {
    data,
    table: table(plans, [
      { title: 'PLAN', value: ({ name }) => name },
      { title: 'REQUESTS/S', value: ({ requestsPerSecond }) => requestsPerSecond },
      { title: 'BURST', value: ({ burst }) => burst },
      { title: 'QUOTA', value: ({ quota }) => quota && `${quota.limit}/${quota.period}` },
      { title: 'KEYS', value: ({ keys }) => keys },
      { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
      { title: 'ID', value: ({ id }) => id },
    ]),
    names: plans.map(({ name }) => name),
  };
}

function quotaOf(typed: string): Quota {
  const [, limit, unit] = /^(\d{1,13})\/([a-z]+)$/.exec(typed) ?? [];
  const period = periods.find((candidate) => candidate === unit);
  if (limit !== undefined && period !== undefined) return { limit: Number(limit), period };
  throw usageFailure(`--quota takes a count and ${periods.join(', ')}, such as 10000/day; not "${typed}".`);
}

const create = command({
  name: 'create',
  args: ['plan'],
  description: 'Create a usage plan; its limits hold for each key on it: rate and burst per replica of the checker.',
  flags: {
    rate: requiredAmount('<n>', 'requests per second', rateRange),
    burst: requiredAmount('<n>', 'requests at once', burstRange),
    quota: text('<n/period>', 'requests per day, week or month in UTC, such as 10000/day; default none'),
    ...scopeFlags,
  },
  examples: ['svc plan create small --rate 5 --burst 10', 'svc plan create free --rate 1 --burst 5 --quota 1000/month'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const body = {
      ...{ name: args.plan, requestsPerSecond: flags.rate, burst: flags.burst },
      ...(flags.quota !== undefined && { quota: quotaOf(flags.quota) }),
    };
    const plan = await place.api.call('POST', place.path('plans'), planChanged, { query: place.query, body });
    context.print(shown([plan], plan, context.clock.now()), flags.output);
  },
});

const list = command({
  name: 'list',
  description: 'List the usage plans of an environment.',
  flags: scopeFlags,
  examples: ['svc plan list', 'svc plan list -o json'],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const items = await place.api.list(place.path('plans'), planView, place.query);
    context.print(shown(items, items, context.clock.now()), flags.output);
  },
});

const show = command({
  name: 'show',
  args: ['plan'],
  description: 'Show a usage plan, by name or id.',
  flags: scopeFlags,
  examples: ['svc plan show small'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const plan = await place.api.call('GET', place.path('plans', args.plan), planView, { query: place.query });
    context.print(shown([plan], plan, context.clock.now()), flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['plan'],
  description: 'Change a usage plan, by name or id; the gate follows within seconds, for every key on it.',
  flags: {
    name: text('<text>', 'new name'),
    rate: amount('<n>', 'requests per second', rateRange),
    burst: amount('<n>', 'requests at once', burstRange),
    quota: text('<n/period>', 'requests per day, week or month in UTC, such as 10000/day; "none" removes it'),
    ...gateWaitFlag,
    ...scopeFlags,
  },
  examples: ['svc plan update small --rate 10', 'svc plan update small --quota 10000/day'],
  async run({ context, args, flags }) {
    const { name, rate, burst, quota } = flags;
    const body = {
      ...(name !== undefined && { name }),
      ...(rate !== undefined && { requestsPerSecond: rate }),
      ...(burst !== undefined && { burst }),
      ...(quota !== undefined && { quota: quota === 'none' ? null : quotaOf(quota) }),
    };
    if (Object.keys(body).length === 0) throw usageFailure('There is nothing to change.', 'see --help');
    const place = placeOf(context, flags);
    const options = { query: place.query, body };
    const plan = await place.api.call('PATCH', place.path('plans', args.plan), planChanged, options);
    context.print(shown([plan], plan, context.clock.now()), flags.output);
    await sayProgress(context, flags, place.api, plan.change, 'in force');
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
    const deleted = await place.api.call('DELETE', place.path('plans', args.plan), planDeleted, { query: place.query });
    context.print({ data: deleted, table: '', names: [deleted.name] }, flags.output);
    context.say(`plan ${deleted.name} is deleted`);
  },
});

export const planCommands: Commands = {
  commands: [create, list, show, update, remove],
};
