import { deploymentLogs, deploymentView } from '../../runtime/contracts/api/apps.ts';
import { page } from '../../runtime/contracts/api/common.ts';
import { deploymentStates, deploymentTriggers } from '../../runtime/domain/deployment.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { amount, choice, text, type FlagValues } from '../flags.ts';
import { ago, table } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { confirm } from '../prompt.ts';
import { shownDeployment, tookOf } from './deployment.ts';

const oneFlags = {
  ...scopeFlags,
  environment: text('<environment>', 'refuse one of another environment (default: found by its id in any)', {
    short: 'e',
  }),
};

/** Where a deployment is looked for. Only a flag that is typed narrows it: an id says enough. @throws Failure */
async function placeOfOne(context: Context, flags: FlagValues<typeof oneFlags>, id: string): Promise<Place> {
  const place = placeOf(context, { ...flags, environment: undefined });
  if (flags.environment === undefined) return place;
  const { environment = '' } = await place.api.call('GET', place.path('deployments', id), deploymentView);
  if (environment === flags.environment) return place;
  throw new Failure(`Deployment ${id} is of the environment "${environment}", not "${flags.environment}".`, {
    code: 'not_found',
  });
}

const list = command({
  name: 'list',
  description: 'List the deployments of all apps of a project, newest first; * marks what an app runs.',
  flags: {
    app: text('<app>', 'only of this app'),
    status: choice(deploymentStates, 'only in this state'),
    trigger: choice(deploymentTriggers, 'only those that this made'),
    limit: amount('<n>', 'at most so many (default 20)', { min: 1, max: 500 }),
    ...scopeFlags,
    environment: text('<environment>', 'only in this environment (SVC_ENVIRONMENT; default: all)', { short: 'e' }),
  },
  examples: ['svc deployment list', 'svc deployment list --status failed -e prod', 'svc deployment list -o name'],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const { app, status, trigger, limit = 20 } = flags;
    const query = { ...place.query, app, status, trigger, limit };
    const { items } = await place.api.call('GET', place.path('deployments'), page(deploymentView), { query });
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'DEPLOYMENT', value: ({ id }) => id },
          { title: 'APP', value: (one) => one.app },
          { title: 'ENVIRONMENT', value: ({ environment }) => environment },
          { title: 'REVISION', value: ({ revision, current }) => revision && `${revision}${current ? ' *' : ''}` },
          { title: 'STATUS', value: (one) => one.status.replace('_', ' ') },
          { title: 'TRIGGER', value: (one) => one.trigger },
          { title: 'ACTOR', value: ({ actor }) => actor },
          { title: 'IMAGE', value: ({ image }) => image },
          { title: 'WHEN', value: ({ acceptedAt }) => ago(acceptedAt, now) },
          { title: 'TOOK', value: tookOf },
          { title: 'REASON', value: ({ reason }) => reason?.split('\n', 1)[0] },
        ]),
        names: items.map(({ id }) => id),
      },
      flags.output,
    );
  },
});

const show = command({
  name: 'show',
  args: ['deployment'],
  description: 'Show a deployment, by its id.',
  flags: oneFlags,
  examples: ['svc deployment show 019a0000-0000-7000-8000-000000000001'],
  async run({ context, args, flags }) {
    const place = await placeOfOne(context, flags, args.deployment);
    const found = await place.api.call('GET', place.path('deployments', args.deployment), deploymentView);
    context.print(shownDeployment(found), flags.output);
  },
});

const logs = command({
  name: 'logs',
  args: ['deployment'],
  description: 'Show what a deployment printed: its build, and its pods as far as they are still there.',
  flags: {
    tail: amount('<lines>', 'lines from the end, of the build (default all) and of each pod (1000)', {
      min: 1,
      max: 10_000,
    }),
    ...oneFlags,
  },
  examples: ['svc deployment logs 019a0000-0000-7000-8000-000000000001 --tail 50'],
  async run({ context, args, flags }) {
    const place = await placeOfOne(context, flags, args.deployment);
    const path = place.path('deployments', args.deployment, 'logs');
    const found = await place.api.call('GET', path, deploymentLogs, { query: { tail: flags.tail } });
    const { build, pods } = found;
    if (build?.truncated && flags.tail === undefined) context.say('the beginning of the log of the build is left out');
    for (const { name, truncated } of pods) {
      if (truncated) context.say(`the beginning of the log of pod ${name} is left out`);
    }
    if (!build && pods.length === 0) context.say('there is no log: it has no build, and its pods are gone');
    const several = pods.length > 1 || build !== undefined;
    const parts = [
      ...(build ? [build.text] : []),
      ...pods.map(({ name, log = '' }) => (several ? log.replaceAll(/^(?=.)/gm, `${name} | `) : log)),
    ];
    const printed = parts.map((part) => part.replace(/\n$/, '')).filter((part) => part !== '');
    const names = pods.map(({ name }) => name);
    context.print({ data: found, table: printed.join('\n'), names }, flags.output);
  },
});

const cancel = command({
  name: 'cancel',
  args: ['deployment'],
  description: 'Cancel a deployment that has not ended; the app goes back to its last good revision.',
  flags: { ...yesFlag, ...oneFlags },
  examples: ['svc deployment cancel 019a0000-0000-7000-8000-000000000001 --yes'],
  async run({ context, args, flags }) {
    const place = await placeOfOne(context, flags, args.deployment);
    await confirm(context, flags, `Cancel deployment ${args.deployment} of ${place.project}?`);
    const path = place.path('deployments', args.deployment, 'cancel');
    const cancelled = await place.api.call('POST', path, deploymentView);
    context.print(shownDeployment(cancelled), flags.output);
    if (cancelled.rolledBackTo !== undefined) {
      context.say(`${cancelled.app} goes back to revision ${cancelled.rolledBackTo}`);
    }
  },
});

export const deploymentCommands: Commands = {
  commands: [list, show, logs, cancel],
};
