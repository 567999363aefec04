import { environmentView, projectView, type EnvironmentView } from '../../runtime/contracts/api/projects.ts';
import { segment } from '../client.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags, scopeFlags, yesFlag } from '../common-flags.ts';
import { Failure, usageFailure } from '../failure.ts';
import { amount, text } from '../flags.ts';
import { fields, type Shown } from '../output.ts';
import { environmentTable, projectPath, untilReady } from '../project-view.ts';
import { confirmName } from '../prompt.ts';
import { waitFlags, waitFor } from '../wait.ts';

const inProject = { project: scopeFlags.project, ...apiFlags };

const limitFlags = {
  cpu: text('<cores>', 'CPU that its pods may ask for together, such as 4 or 500m'),
  memory: text('<size>', 'memory that its pods may use together, such as 16Gi'),
  storage: text('<size>', 'storage that its volumes may ask for together, such as 100Gi'),
  pods: amount('<n>', 'how many pods it may have', { min: 1, max: 10_000 }),
  containerMemory: text('<size>', 'memory of a container that sets no limit itself, such as 512Mi'),
};

/** What was typed for the limits; `default` takes one back. */
function limitsOf(flags: Readonly<Record<keyof typeof limitFlags, string | number | undefined>>): object {
  const given = Object.keys(limitFlags).map((key) => [key, flags[key as keyof typeof limitFlags]] as const);
  return Object.fromEntries(
    given.filter(([, value]) => value !== undefined).map(([key, value]) => [key, value === 'default' ? null : value]),
  );
}

function shown(environment: EnvironmentView): Shown {
  const { limits } = environment;
  const table = fields([
    ['Environment', environment.name],
    ['Namespace', environment.namespace],
    ['Status', environment.ready ? 'ready' : (environment.message ?? 'creating')],
    ['CPU', limits?.cpu],
    ['Memory', limits?.memory],
    ['Storage', limits?.storage],
    ['Pods', limits && String(limits.pods)],
    ['Memory of a container', limits?.containerMemory],
  ]);
  return { data: environment, table, names: [environment.name] };
}

const create = command({
  name: 'create',
  args: ['environment'],
  description: 'Add an environment to a project.',
  flags: { ...limitFlags, project: scopeFlags.project, ...waitFlags, ...apiFlags },
  examples: ['svc environment create staging --project shop'],
  async run({ context, args, flags }) {
    const { project } = context.scope({ project: flags.project, environment: undefined });
    const limits = limitsOf(flags);
    const body = { name: args.environment, ...(Object.keys(limits).length > 0 && { limits }) };
    const path = `${projectPath(project)}/environments`;
    const created = await context.api(flags).call('POST', path, environmentView, { body });
    const ready = flags.wait
      ? (await untilReady(context, flags, project)).environments.find(({ name }) => name === created.name)
      : undefined;
    const environment = ready ?? created;
    context.print(
      { data: environment, table: environmentTable([environment]), names: [environment.name] },
      flags.output,
    );
  },
});

const list = command({
  name: 'list',
  description: 'List the environments of a project.',
  flags: inProject,
  examples: ['svc environment list --project shop'],
  async run({ context, flags }) {
    const { project } = context.scope({ project: flags.project, environment: undefined });
    const items = await context.api(flags).list(`${projectPath(project)}/environments`, environmentView);
    context.print({ data: items, table: environmentTable(items), names: items.map(({ name }) => name) }, flags.output);
  },
});

const show = command({
  name: 'show',
  args: ['environment'],
  description: 'Show an environment and what it may use.',
  flags: inProject,
  examples: ['svc environment show prod --project shop'],
  async run({ context, args, flags }) {
    const { project } = context.scope({ project: flags.project, environment: undefined });
    const items = await context.api(flags).list(`${projectPath(project)}/environments`, environmentView);
    const environment = items.find(({ name }) => name === args.environment);
    if (!environment) {
      throw new Failure(`Project "${project}" has no environment "${args.environment}".`, {
        code: 'not_found',
        hint: `it has ${items.map(({ name }) => name).join(', ')}`,
      });
    }
    context.print(shown(environment), flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['environment'],
  description: 'Change what an environment may use; "default" takes a limit back.',
  flags: { ...limitFlags, ...inProject },
  examples: ['svc environment update prod --project shop --cpu 8 --memory 32Gi'],
  async run({ context, args, flags }) {
    const { project } = context.scope({ project: flags.project, environment: undefined });
    const limits = limitsOf(flags);
    if (Object.keys(limits).length === 0) throw usageFailure('There is nothing to change.', 'give a limit');
    const path = `${projectPath(project)}/environments/${segment(args.environment)}`;
    const environment = await context.api(flags).call('PATCH', path, environmentView, { body: { limits } });
    context.print(shown(environment), flags.output);
  },
});

const remove = command({
  name: 'delete',
  args: ['environment'],
  description: 'Delete an environment with everything in it.',
  flags: { ...yesFlag, ...waitFlags, ...inProject },
  examples: ['svc environment delete staging --project shop'],
  async run({ context, args, flags }) {
    const { project } = context.scope({ project: flags.project, environment: undefined });
    const { environment: name } = args;
    const api = context.api(flags);
    await confirmName(context, flags, `This deletes everything in the environment ${name} of ${project}`, name);
    await api.send('DELETE', `${projectPath(project)}/environments/${segment(name)}`);
    if (flags.wait) {
      await waitFor(
        context,
        flags,
        async () => {
          const { environments } = await api.call('GET', projectPath(project), projectView);
          return environments.some((environment) => environment.name === name)
            ? { progress: `environment ${name} is being deleted` }
            : { done: undefined };
        },
        `it goes on: svc project show ${project}`,
      );
    }
    context.say(`environment ${name} ${flags.wait ? 'is deleted' : 'is being deleted'}`);
  },
});

export const environmentCommands: Commands = {
  commands: [create, list, show, update, remove],
};
