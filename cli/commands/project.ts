import { projectView, type ProjectView } from '../../runtime/contracts/api/projects.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags, yesFlag } from '../common-flags.ts';
import { Failure } from '../failure.ts';
import { text, texts } from '../flags.ts';
import { ago, fields, table, type Shown } from '../output.ts';
import { environmentTable, projectPath, untilReady } from '../project-view.ts';
import { confirmName } from '../prompt.ts';
import { waitFlags, waitForRemoval } from '../wait.ts';

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
        data: items,
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
    context.print(shown(await context.api(flags).call('GET', projectPath(args.project), projectView)), flags.output);
  },
});

const use = command({
  name: 'use',
  args: ['project'],
  description: 'Choose the project, and perhaps the environment, that later commands act in.',
  flags: { environment: text('<environment>', 'environment', { short: 'e' }), api: apiFlags.api },
  examples: ['svc project use shop', 'svc project use shop --environment prod'],
  async run({ context, args, flags }) {
    const project = await context.api(flags).call('GET', projectPath(args.project), projectView);
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
    const path = projectPath(args.project);
    const project = await api.call('GET', path, projectView);
    const names = project.environments.map(({ name }) => name).join(', ');
    await confirmName(context, flags, `This deletes everything in ${names || 'it'}`, project.name);
    await api.send('DELETE', path);
    if (flags.wait) await waitForRemoval(context, flags, `project ${project.name}`, () => api.send('GET', path));
    if (context.configuration.project === project.name)
      context.remember({ project: undefined, environment: undefined });
    context.say(`project ${project.name} ${flags.wait ? 'is deleted' : 'is being deleted'}`);
  },
});

export const projectCommands: Commands = {
  commands: [create, list, show, use, remove],
};
