import { projectView, type ProjectView } from '../../runtime/contracts/api/projects.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags, yesFlag } from '../common-flags.ts';
import { deleteAll } from '../deletion.ts';
import { Failure } from '../failure.ts';
import { text, texts } from '../flags.ts';
import { defineKind } from '../kind.ts';
import { ageColumn, fields } from '../output.ts';
import { environmentTable, waitUntilReady } from '../project-view.ts';
import { resolvePlatform } from '../scope.ts';
import { waitFlags } from '../wait.ts';

const projectKind = defineKind<ProjectView>({
  name: 'project',
  level: 'platform',
  collection: 'projects',
  schema: projectView,
  id: ({ name }) => name,
  examples: ['shop', 'blog'],
  columns: (_, { now }) => [
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'ENVIRONMENTS', value: ({ environments }) => environments.map(({ name }) => name).join(', ') },
    ageColumn(now),
  ],
  details: ({ name, displayName, status, environments }) =>
    [
      fields([
        ['Project', name],
        ['Title', displayName],
        ['Status', status],
      ]),
      environmentTable(environments),
    ].join('\n\n'),
  help: { list: 'List the projects.', show: 'Show a project and its environments.' },
  warning: ({ name, environments }) =>
    `This deletes everything in ${environments.map((environment) => environment.name).join(', ') || name}`,
});

const create = command({
  name: 'create',
  args: ['project'],
  description: 'Create a project and its environments.',
  flags: {
    environment: texts('<name>', 'name of an environment (default prod)'),
    title: text('<text>', 'display name'),
    ...waitFlags,
    ...apiFlags,
  },
  data: projectView,
  examples: ['svc project create shop', 'svc project create shop --environment staging --environment prod'],
  async run({ context, args, flags }) {
    const body = {
      name: args.project,
      ...(flags.title !== undefined && { displayName: flags.title }),
      ...(flags.environment.length > 0 && { environments: flags.environment }),
    };
    const created = await projectKind.create(resolvePlatform(context, flags), body);
    const project = flags.wait ? await waitUntilReady(context, flags, args.project) : created;
    projectKind.print(context, project, flags.output);
  },
});

const show = command({
  name: 'show',
  args: ['project?'],
  description: 'Show a project and its environments (default: the project in use).',
  flags: apiFlags,
  data: projectView,
  watch: true,
  examples: ['svc project show', 'svc project show shop -o json'],
  async run({ context, args, flags }) {
    const project = args.project ?? context.scope({ project: undefined, environment: undefined }).project;
    projectKind.print(context, await projectKind.read(resolvePlatform(context, flags), project), flags.output);
  },
});

const use = command({
  name: 'use',
  args: ['project'],
  description: 'Set the default project and environment for later commands.',
  flags: {
    environment: text('<environment>', 'environment', { short: 'e' }),
    api: apiFlags.api,
    context: apiFlags.context,
  },
  examples: ['svc project use shop', 'svc project use shop --environment prod'],
  async run({ context, args, flags }) {
    const project = await projectKind.read(resolvePlatform(context, flags), args.project);
    const names = project.environments.map(({ name }) => name);
    if (flags.environment !== undefined && !names.includes(flags.environment)) {
      throw new Failure(`Project "${project.name}" has no environment "${flags.environment}".`, {
        code: 'not_found',
        hint: `it has ${names.join(', ')}`,
      });
    }
    context.remember(flags, { project: project.name, environment: flags.environment });
    context.say(`using project ${project.name}${flags.environment ? `, environment ${flags.environment}` : ''}`);
  },
});

const remove = command({
  name: 'delete',
  args: ['...projects'],
  description: 'Delete projects and everything in their environments.',
  flags: { ...yesFlag, ...waitFlags, ...apiFlags },
  examples: ['svc project delete shop', 'svc project delete shop blog --yes --no-wait'],
  async run({ context, args, flags }) {
    const scope = resolvePlatform(context, flags);
    await deleteAll(context, flags, { kind: projectKind, scope, names: args.projects });
    if (args.projects.includes(context.login(flags).project ?? '')) {
      context.remember(flags, { project: undefined, environment: undefined });
    }
  },
});

export const projectCommands: Commands = { commands: [create, projectKind.list, show, use, remove] };
