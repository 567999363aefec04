import { environmentView, projectView, type ProjectView } from '../../runtime/contracts/api/projects.ts';
import { segment } from '../client.ts';
import { command, type Group } from '../command.ts';
import { apiFlags, scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { text, texts } from '../flags.ts';
import { ago, fields, table, type Shown } from '../output.ts';
import { confirm } from '../prompt.ts';
import { waitFlags, waitFor, waitForRemoval, type WaitFlags } from '../wait.ts';

const pathOf = (project: string) => `/projects/${segment(project)}`;

function shown(project: ProjectView): Shown {
  return {
    data: project,
    table: [
      fields([
        ['Project', project.name],
        ['Title', project.displayName],
        ['Status', project.status],
      ]),
      environmentTable(project.environments),
    ].join('\n\n'),
    names: [project.name],
  };
}

function environmentTable(environments: ProjectView['environments']): string {
  return table(environments, [
    { title: 'ENVIRONMENT', value: ({ name }) => name },
    { title: 'NAMESPACE', value: ({ namespace }) => namespace },
    { title: 'STATUS', value: ({ ready, message }) => (ready ? 'ready' : (message ?? 'creating')) },
  ]);
}

/** Waits until the project is ready, and the named environment with it. */
function untilReady(
  context: Context,
  flags: WaitFlags & { api: string | undefined },
  name: string,
): Promise<ProjectView> {
  const api = context.api(flags);
  return waitFor(
    context,
    flags,
    async () => {
      const project = await api.call('GET', pathOf(name), projectView);
      const failed = project.environments.find(({ ready, message }) => !ready && message !== undefined);
      if (project.status === 'failed') {
        throw new Failure(`Project "${name}" failed: ${failed?.message ?? 'see its status'}`, { code: 'failed' });
      }
      const pending = project.environments.filter(({ ready }) => !ready).map((environment) => environment.name);
      if (project.status === 'ready' && pending.length === 0) return { done: project };
      return { progress: `creating environment ${pending.join(', ')} of ${name}` };
    },
    `it goes on: svc project show ${name}`,
  );
}

const create = command({
  name: 'create',
  args: ['project'],
  description: 'Create a project with its environments; each becomes a namespace.',
  flags: {
    environment: texts('<name>', 'name of an environment (default prod)'),
    title: text('<text>', 'name for people'),
    ...waitFlags,
    ...apiFlags,
  },
  examples: ['svc project create shop', 'svc project create shop --environment staging --environment prod'],
  async run({ context, args, flags }) {
    const body = {
      name: args.project,
      ...(flags.title !== undefined && { displayName: flags.title }),
      ...(flags.environment.length > 0 && { environments: flags.environment }),
    };
    const created = await context.api(flags).call('POST', '/projects', projectView, { body });
    const project = flags.wait ? await untilReady(context, flags, args.project) : created;
    context.print(shown(project), flags.output);
  },
});

const list = command({
  name: 'list',
  description: 'List the projects.',
  flags: apiFlags,
  examples: ['svc project list', 'svc project list -o name'],
  async run({ context, flags }) {
    const items = await context.api(flags).list('/projects', projectView);
    const now = context.clock.now();
    context.print(
      {
        data: { items },
        table: table(items, [
          { title: 'PROJECT', value: ({ name }) => name },
          { title: 'STATUS', value: ({ status }) => status },
          { title: 'ENVIRONMENTS', value: ({ environments }) => environments.map(({ name }) => name).join(', ') },
          { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
        ]),
        names: items.map(({ name }) => name),
      },
      flags.output,
    );
  },
});

const show = command({
  name: 'show',
  args: ['project'],
  description: 'Show a project and its environments.',
  flags: apiFlags,
  examples: ['svc project show shop'],
  async run({ context, args, flags }) {
    context.print(shown(await context.api(flags).call('GET', pathOf(args.project), projectView)), flags.output);
  },
});

const use = command({
  name: 'use',
  args: ['project'],
  description: 'Choose the project, and perhaps the environment, that later commands act in.',
  flags: { environment: text('<environment>', 'environment', { short: 'e' }), api: apiFlags.api },
  examples: ['svc project use shop', 'svc project use shop --environment prod'],
  async run({ context, args, flags }) {
    const project = await context.api(flags).call('GET', pathOf(args.project), projectView);
    const names = project.environments.map(({ name }) => name);
    if (flags.environment !== undefined && !names.includes(flags.environment)) {
      throw new Failure(`Project "${project.name}" has no environment "${flags.environment}".`, {
        code: 'not_found',
        hint: `it has ${names.join(', ')}`,
      });
    }
    context.remember({ project: project.name, environment: flags.environment });
    context.say(`using project ${project.name}${flags.environment ? `, environment ${flags.environment}` : ''}`);
  },
});

const remove = command({
  name: 'delete',
  args: ['project'],
  description: 'Delete a project with everything in its environments.',
  flags: { ...yesFlag, ...waitFlags, ...apiFlags },
  examples: ['svc project delete shop', 'svc project delete shop --yes --no-wait'],
  async run({ context, args, flags }) {
    const api = context.api(flags);
    const path = pathOf(args.project);
    const project = await api.call('GET', path, projectView);
    const names = project.environments.map(({ name }) => name).join(', ');
    await confirm(context, flags, `Delete project ${project.name} with everything in ${names}?`);
    await api.send('DELETE', path);
    if (flags.wait) await waitForRemoval(context, flags, `project ${project.name}`, () => api.send('GET', path));
    if (context.configuration.project === project.name)
      context.remember({ project: undefined, environment: undefined });
    context.say(`project ${project.name} ${flags.wait ? 'is deleted' : 'is being deleted'}`);
  },
});

export const projectGroup: Group = {
  name: 'project',
  description: 'Projects: groups of environments.',
  commands: [create, list, show, use, remove],
};

const createEnvironment = command({
  name: 'create',
  args: ['environment'],
  description: 'Add an environment to a project.',
  flags: { project: scopeFlags.project, ...waitFlags, ...apiFlags },
  examples: ['svc environment create staging --project shop'],
  async run({ context, args, flags }) {
    const { project } = context.scope({ project: flags.project, environment: undefined });
    const path = `${pathOf(project)}/environments`;
    const body = { name: args.environment };
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

const listEnvironments = command({
  name: 'list',
  description: 'List the environments of a project.',
  flags: { project: scopeFlags.project, ...apiFlags },
  examples: ['svc environment list --project shop'],
  async run({ context, flags }) {
    const { project } = context.scope({ project: flags.project, environment: undefined });
    const items = await context.api(flags).list(`${pathOf(project)}/environments`, environmentView);
    context.print(
      { data: { items }, table: environmentTable(items), names: items.map(({ name }) => name) },
      flags.output,
    );
  },
});

export const environmentGroup: Group = {
  name: 'environment',
  description: 'Environments of a project, such as staging and prod.',
  commands: [createEnvironment, listEnvironments],
};
