import { deploymentLogs, deploymentView } from '../../runtime/contracts/api/apps.ts';
import { page } from '../../runtime/contracts/api/common.ts';
import { deploymentStates, deploymentTriggers, hasEnded } from '../../runtime/domain/deployment.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { amount, choice, text, type FlagValues } from '../flags.ts';
import { ago, table } from '../output.ts';
import { resolveProject, resolveScope, type Scope } from '../scope.ts';
import { confirm } from '../prompt.ts';
import { deploymentOutput, deploymentDuration } from './deployment.ts';

const oneFlags = {
  ...scopeFlags,
  environment: text('<environment>', 'require this environment (default: any)', { short: 'e' }),
};

/** The scope of one deployment. An ID is unique, so only an explicit flag limits the environment. @throws Failure */
async function deploymentScope(context: Context, flags: FlagValues<typeof oneFlags>, id: string): Promise<Scope> {
  const scope = resolveProject(context, flags);
  if (flags.environment === undefined) return scope;
  const { environment = '' } = await scope.api.call('GET', scope.path('deployments', id), deploymentView);
  if (environment === flags.environment) return scope;
  throw new Failure(`Deployment ${id} is in the environment "${environment}", not "${flags.environment}".`, {
    code: 'not_found',
  });
}

const list = command({
  name: 'list',
  description: 'List the deployments in a project, newest first. * marks current ones.',
  flags: {
    app: text('<app>', 'only this app'),
    status: choice(deploymentStates, 'only this status'),
    trigger: choice(deploymentTriggers, 'only this trigger'),
    limit: amount('<n>', 'maximum number of results (default 20)', { min: 1, max: 500 }),
    ...scopeFlags,
    environment: text('<environment>', 'only this environment (SVC_ENVIRONMENT; default: all)', { short: 'e' }),
  },
  data: deploymentView,
  watch: true,
  examples: ['svc deployment list', 'svc deployment list --status failed -e prod', 'svc deployment list -o name'],
  async run({ context, flags }) {
    const scope = resolveScope(context, flags);
    const { app, status, trigger, limit = 20 } = flags;
    const query = { ...scope.query, app, status, trigger, limit };
    const { items } = await scope.api.call('GET', scope.path('deployments'), page(deploymentView), { query });
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'DEPLOYMENT', value: ({ id }) => id },
          { title: 'APP', value: (deployment) => deployment.app },
          { title: 'ENVIRONMENT', value: ({ environment }) => environment },
          { title: 'REVISION', value: ({ revision, current }) => revision && `${revision}${current ? ' *' : ''}` },
          { title: 'STATUS', value: (deployment) => deployment.status.replace('_', ' ') },
          { title: 'TRIGGER', value: (deployment) => deployment.trigger },
          { title: 'ACTOR', value: ({ actor }) => actor },
          { title: 'IMAGE', value: ({ image }) => image },
          { title: 'WHEN', value: ({ acceptedAt }) => ago(acceptedAt, now) },
          { title: 'TOOK', value: deploymentDuration },
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
  description: 'Show a deployment, by ID.',
  flags: oneFlags,
  data: deploymentView,
  watch: true,
  examples: ['svc deployment show 019a0000-0000-7000-8000-000000000001'],
  async run({ context, args, flags }) {
    const scope = await deploymentScope(context, flags, args.deployment);
    const deployment = await scope.api.call('GET', scope.path('deployments', args.deployment), deploymentView);
    context.print(deploymentOutput(deployment), flags.output);
  },
});

const logs = command({
  name: 'logs',
  args: ['deployment'],
  description: 'Show the logs of a deployment: its build and its existing pods.',
  flags: {
    tail: amount('<lines>', 'last lines of the build and each pod (default: all, 1000 per pod)', {
      min: 1,
      max: 10_000,
    }),
    ...oneFlags,
  },
  examples: ['svc deployment logs 019a0000-0000-7000-8000-000000000001 --tail 50'],
  async run({ context, args, flags }) {
    const scope = await deploymentScope(context, flags, args.deployment);
    const path = scope.path('deployments', args.deployment, 'logs');
    const printed = await scope.api.call('GET', path, deploymentLogs, { query: { tail: flags.tail } });
    const { build, pods } = printed;
    if (build?.truncated && flags.tail === undefined) context.say('the build log is truncated');
    for (const { name, truncated } of pods) {
      if (truncated) context.say(`the log of pod ${name} is truncated`);
    }
    if (!build && pods.length === 0) context.say('no logs: the deployment has no build, and its pods were deleted');
    const several = pods.length > 1 || build !== undefined;
    const parts = [
      ...(build ? [build.text] : []),
      ...pods.map(({ name, log = '' }) => (several ? log.replaceAll(/^(?=.)/gm, `${name} | `) : log)),
    ];
    const text = parts.map((part) => part.replace(/\n$/, '')).filter((part) => part !== '');
    const names = pods.map(({ name }) => name);
    context.print({ data: printed, table: text.join('\n'), names }, flags.output);
  },
});

/** Asks only about a deployment that exists and is in progress; the API refuses the others with the reason. @throws Failure */
async function confirmCancel(context: Context, scope: Scope, id: string): Promise<void> {
  const { app, revision, status } = await scope.api.call('GET', scope.path('deployments', id), deploymentView);
  if (hasEnded(status)) return;
  await confirm(context, { yes: false }, `Cancel revision ${revision} of ${app} in ${scope.project}?`);
}

const cancel = command({
  name: 'cancel',
  args: ['deployment'],
  description: 'Cancel a deployment in progress, and roll back to the last good revision.',
  flags: { ...yesFlag, ...oneFlags },
  data: deploymentView,
  examples: ['svc deployment cancel 019a0000-0000-7000-8000-000000000001 --yes'],
  async run({ context, args, flags }) {
    const scope = await deploymentScope(context, flags, args.deployment);
    if (!flags.yes) await confirmCancel(context, scope, args.deployment);
    const path = scope.path('deployments', args.deployment, 'cancel');
    const cancelled = await scope.api.call('POST', path, deploymentView);
    context.print(deploymentOutput(cancelled), flags.output);
    if (cancelled.rolledBackTo !== undefined) {
      context.say(`${cancelled.app} is rolling back to revision ${cancelled.rolledBackTo}`);
    }
  },
});

export const deploymentCommands: Commands = { commands: [list, show, logs, cancel] };
