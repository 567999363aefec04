import type { z } from 'zod';
import { planChanged, planDeleted, planView, type PlanView, type Quota } from '../../runtime/contracts/api/plans.ts';
import { periods } from '../../runtime/domain/period.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { confirmDeletion } from '../deletion.ts';
import { usageFailure } from '../failure.ts';
import { amount, requiredAmount, text } from '../flags.ts';
import { gateWaitFlag, reportGateChange } from '../gate-change.ts';
import { defineKind } from '../kind.ts';
import { ageColumn } from '../output.ts';
import { resolveScope } from '../scope.ts';

const rateRange = { min: 0.001, max: 1_000_000, fraction: true };
const burstRange = { min: 1, max: 1_000_000 };

const planKind = defineKind<PlanView>({
  name: 'plan',
  level: 'environment',
  collection: 'plans',
  schema: planView,
  id: ({ name }) => name,
  examples: ['small', 'free'],
  columns: (_, { now }) => [
    { title: 'REQUESTS/S', value: ({ requestsPerSecond }) => requestsPerSecond },
    { title: 'BURST', value: ({ burst }) => burst },
    { title: 'QUOTA', value: ({ quota }) => quota && `${quota.limit}/${quota.period}` },
    { title: 'KEYS', value: ({ keys }) => keys },
    ageColumn(now),
    { title: 'ID', value: ({ id }) => id },
  ],
  help: { list: 'List the usage plans in an environment.', show: 'Show a usage plan, by name or ID.' },
});

function quotaOf(typed: string): Quota {
  const [, limit, unit] = /^(\d{1,13})\/([a-z]+)$/.exec(typed) ?? [];
  const period = periods.find((candidate) => candidate === unit);
  if (limit !== undefined && period !== undefined) return { limit: Number(limit), period };
  throw usageFailure(`--quota takes a number per ${periods.join(', ')}, such as 10000/day, not "${typed}".`);
}

const create = command({
  name: 'create',
  args: ['plan'],
  description: 'Create a usage plan with limits per key.',
  flags: {
    rate: requiredAmount('<n>', 'requests per second', rateRange),
    burst: requiredAmount('<n>', 'maximum burst of requests', burstRange),
    quota: text('<n/period>', 'requests per UTC period, such as 10000/day (default none)'),
    ...scopeFlags,
  },
  data: planKind.schema,
  examples: ['svc plan create small --rate 5 --burst 10', 'svc plan create free --rate 1 --burst 5 --quota 1000/month'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const body = {
      name: args.plan,
      requestsPerSecond: flags.rate,
      burst: flags.burst,
      ...(flags.quota !== undefined && { quota: quotaOf(flags.quota) }),
    };
    const plan = await scope.api.call('POST', scope.path('plans'), planChanged, { query: scope.query, body });
    planKind.print(context, plan, flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['plan'],
  description: 'Change a usage plan and all keys on it, by name or ID.',
  flags: {
    name: text('<text>', 'new name'),
    rate: amount('<n>', 'requests per second', rateRange),
    burst: amount('<n>', 'maximum burst of requests', burstRange),
    quota: text('<n/period>', 'requests per UTC period, such as 10000/day; "none" removes it'),
    ...gateWaitFlag,
    ...scopeFlags,
  },
  data: planKind.schema,
  examples: ['svc plan update small --rate 10', 'svc plan update small --quota 10000/day'],
  async run({ context, args, flags }) {
    const { name, rate, burst, quota } = flags;
    const body = {
      ...(name !== undefined && { name }),
      ...(rate !== undefined && { requestsPerSecond: rate }),
      ...(burst !== undefined && { burst }),
      ...(quota !== undefined && { quota: quota === 'none' ? null : quotaOf(quota) }),
    };
    if (Object.keys(body).length === 0) throw usageFailure('Nothing to change.', 'see svc plan update --help');
    const scope = resolveScope(context, flags);
    const options = { query: scope.query, body };
    const plan = await scope.api.call('PATCH', scope.path('plans', args.plan), planChanged, options);
    planKind.print(context, plan, flags.output);
    await reportGateChange(context, flags, scope.api, { change: plan.change, verb: 'applied' });
  },
});

const remove = command({
  name: 'delete',
  args: ['...plans'],
  description: 'Delete usage plans that no key uses, by name or ID.',
  flags: { ...yesFlag, ...scopeFlags },
  examples: ['svc plan delete small', 'svc plan delete small free --yes'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const plans = await confirmDeletion(context, flags, { kind: planKind, scope, names: args.plans });
    const deleted: z.infer<typeof planDeleted>[] = [];
    for (const { name } of plans) {
      const plan = await scope.api.call('DELETE', planKind.path(scope, name), planDeleted, { query: scope.query });
      deleted.push(plan);
      context.say(`plan ${plan.name} is deleted`);
    }
    const data = deleted.length === 1 ? deleted[0] : deleted;
    context.print({ data, table: '', names: deleted.map(({ name }) => name) }, flags.output);
  },
});

export const planCommands: Commands = { commands: [create, planKind.list, planKind.show, update, remove] };
