import { environmentView, type EnvironmentView } from '../../runtime/contracts/api/projects.ts';
import { podsRange } from '../../runtime/domain/platform-profile.ts';
import { command, type Commands } from '../command.ts';
import { projectFlags } from '../common-flags.ts';
import { Failure, usageFailure } from '../failure.ts';
import { amount, orDefault, text } from '../flags.ts';
import { defineKind } from '../kind.ts';
import { environmentColumns, environmentTable, waitUntilReady } from '../project-view.ts';
import { resolveProject } from '../scope.ts';
import { waitFlags } from '../wait.ts';

const limitFlags = {
  cpu: text('<cores>', 'total CPU requests of its pods, such as 4 or 500m'),
  memory: text('<size>', 'total memory of its pods, such as 16Gi'),
  storage: text('<size>', 'total storage of its volumes, such as 100Gi'),
  pods: orDefault(amount('<n>', 'maximum number of pods', podsRange)),
  containerMemory: text('<size>', 'default memory limit of a container, such as 512Mi'),
};

/** The limits of the flags; `default` becomes null, which resets a limit. */
function limitsOf(flags: Readonly<Record<keyof typeof limitFlags, string | number | null | undefined>>): object {
  const values = Object.keys(limitFlags).map((key) => [key, flags[key as keyof typeof limitFlags]] as const);
  return Object.fromEntries(
    values.filter(([, value]) => value !== undefined).map(([key, value]) => [key, value === 'default' ? null : value]),
  );
}

const environmentKind = defineKind<EnvironmentView>({
  name: 'environment',
  article: 'an',
  level: 'project',
  collection: 'environments',
  schema: environmentView,
  id: ({ name }) => name,
  examples: ['prod', 'staging'],
  columns: () => environmentColumns.slice(1),
  details: ({ name, namespace, ready, message, limits }) => [
    ['Environment', name],
    ['Namespace', namespace],
    ['Status', ready ? 'ready' : (message ?? 'creating')],
    ['CPU', limits?.cpu],
    ['Memory', limits?.memory],
    ['Storage', limits?.storage],
    ['Pods', limits?.pods],
    ['Memory of a container', limits?.containerMemory],
  ],
  help: { show: 'Show an environment and its limits.', delete: 'Delete environments and everything in them.' },
  warning: ({ name }, { project }) => `This deletes everything in the environment ${name} of ${project}`,
  async read(scope, name) {
    const environments = await scope.api.list(scope.path('environments'), environmentView);
    const environment = environments.find((candidate) => candidate.name === name);
    if (environment) return environment;
    throw new Failure(`Project "${scope.project}" has no environment "${name}".`, {
      code: 'not_found',
      hint: `it has ${environments.map((candidate) => candidate.name).join(', ')}`,
    });
  },
});

const create = command({
  name: 'create',
  args: ['environment'],
  description: 'Create an environment in a project.',
  flags: { ...limitFlags, ...waitFlags, ...projectFlags },
  data: environmentView,
  examples: ['svc environment create staging --project shop'],
  async run({ context, args, flags }) {
    const scope = resolveProject(context, flags);
    const limits = limitsOf(flags);
    const body = { name: args.environment, ...(Object.keys(limits).length > 0 && { limits }) };
    const created = await environmentKind.create(scope, body);
    const ready = flags.wait
      ? (await waitUntilReady(context, flags, scope.project)).environments.find(({ name }) => name === created.name)
      : undefined;
    const environment = ready ?? created;
    const table = environmentTable([environment]);
    context.print({ data: environment, table, names: [environment.name] }, flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['environment'],
  description: 'Change the limits of an environment. "default" resets a limit.',
  flags: { ...limitFlags, ...projectFlags },
  data: environmentView,
  examples: ['svc environment update prod --project shop --cpu 8 --memory 32Gi'],
  async run({ context, args, flags }) {
    const limits = limitsOf(flags);
    if (Object.keys(limits).length === 0)
      throw usageFailure('Nothing to change.', 'set a limit; see svc environment update --help');
    const scope = resolveProject(context, flags);
    const environment = await environmentKind.update(scope, args.environment, { limits });
    environmentKind.print(context, environment, flags.output);
  },
});

export const environmentCommands: Commands = {
  commands: [create, environmentKind.list, environmentKind.show, update, environmentKind.delete],
};
