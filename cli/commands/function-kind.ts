import { functionView, type FunctionView } from '../../runtime/contracts/api/functions.ts';
import { durationText } from '../../runtime/domain/duration.ts';
import { command } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { deleteAll } from '../deletion.ts';
import { usageFailure } from '../failure.ts';
import { defineKind, environmentColumn } from '../kind.ts';
import { ageColumn, ago, type Column, type Field } from '../output.ts';
import { waitFlags } from '../wait.ts';
import { messageColumn, mountsText } from '../workload-columns.ts';
import { discardFlags, discardQuery, eventFields, triggerText } from './function-trigger.ts';
import { securityText } from './security-policy.ts';

const requestFields = ({ concurrency, targetRate }: FunctionView): Field[] => [
  ['Concurrency', `${concurrency} requests per pod`],
  ['Target rate', `${targetRate} requests per second and pod`],
];

const scalingFields = (view: FunctionView): Field[] => [
  ['Pods', `${view.readyReplicas} of ${view.replicas} ready`],
  ['Scale', `${view.minReplicas} to ${view.maxReplicas} pods`],
  ...(view.trigger === 'http' ? requestFields(view) : []),
  ['Idle time-out', durationText(view.idleTimeoutSeconds)],
  ['Request time-out', durationText(view.requestTimeoutSeconds)],
];

const scheduleFields = ({ nextRuns = [], lastRun, ...view }: FunctionView): Field[] => [
  ['Schedule', `${view.schedule} (${view.timeZone})`],
  ['Description', view.scheduleDescription],
  ['Next runs', nextRuns.join(', ') || undefined],
  ['Overlap', view.overlap === 'Forbid' ? undefined : view.overlap],
  ['Last run', lastRun && `${lastRun.name} ${lastRun.status}`],
];

/** The columns SCHEDULE, DESCRIPTION, LAST RUN, EVENTS and URL. Omits columns that are empty for all functions, except URL. */
function triggerColumns(items: readonly FunctionView[], now: Date): Column<FunctionView>[] {
  const schedule: Column<FunctionView>[] = [
    { title: 'SCHEDULE', value: (view) => view.schedule },
    { title: 'DESCRIPTION', value: ({ scheduleDescription }) => scheduleDescription },
    { title: 'LAST RUN', value: ({ lastRun }) => lastRun && `${lastRun.status}, ${ago(lastRun.createdAt, now)}` },
  ];
  const source: Column<FunctionView> = {
    title: 'EVENTS',
    value: ({ events }) => events && `${events.type} ${events.source}`,
  };
  return [
    ...(items.some(({ trigger }) => trigger === 'cron') ? schedule : []),
    ...(items.some(({ events }) => events) ? [source] : []),
    { title: 'URL', value: ({ url }) => url },
  ];
}

/** The kind of functions. `function` is a reserved word. */
export const functionKind = defineKind<FunctionView>({
  name: 'function',
  level: 'environment',
  collection: 'functions',
  schema: functionView,
  id: ({ name }) => name,
  examples: ['hello', 'goodbye'],
  columns: (items, { now }) => [
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'PODS', value: ({ replicas }) => replicas },
    { title: 'RUNTIME', value: ({ runtime }) => runtime ?? 'image' },
    ...triggerColumns(items, now),
    ageColumn(now),
    ...messageColumn(items, now),
  ],
  details: (view) => [
    ['Function', view.name],
    ['Project', view.project],
    ['Environment', view.environment],
    ['Status', view.status],
    ['Message', view.message],
    ['Out of memory', view.outOfMemory?.message],
    ['URL', view.url],
    ['Runtime', view.runtime],
    ['Image', view.image],
    ['Port', view.port],
    ['Gate', view.gate],
    ['Security', view.security && securityText(view.security)],
    ['Dependencies', view.dependencies?.join(', ') || undefined],
    ['Trigger', triggerText(view)],
    ...eventFields(view),
    ['Bindings', view.bindings?.map(({ service, status }) => `${service} (${status})`).join(', ')],
    ...(view.trigger === 'cron' ? scheduleFields(view) : scalingFields(view)),
    ['Memory', view.memory],
    ['CPU', view.cpu],
    ['Variables', Object.keys(view.env).join(', ') || undefined],
    ['Volumes', mountsText(view.volumes)],
    ['Changes', view.pendingRestart ? `settings changed; apply: svc function restart ${view.name}` : undefined],
  ],
});

/** For lists across projects. A function outside environments has no project. */
const projectColumn: Column<FunctionView> = {
  title: 'ENVIRONMENT',
  value: ({ project, environment }) => project && `${project}/${environment}`,
};

export const listCommand = command({
  name: 'list',
  description: 'List the functions of an environment or project, or all that you can see.',
  flags: scopeFlags,
  data: functionView,
  watch: true,
  examples: ['svc function list', 'svc function list --project shop'],
  async run({ context, flags }) {
    const project = flags.project ?? (context.env['SVC_PROJECT'] || context.login(flags).project);
    if (project === undefined) {
      if (flags.environment !== undefined) throw usageFailure('--environment requires --project.');
      const items = await context.api(flags).list('/functions', functionView);
      functionKind.printList(context, items, flags.output, [projectColumn]);
      return;
    }
    const scope = functionKind.resolve(context, flags);
    const { items, several } = await functionKind.readAll(scope);
    functionKind.printList(context, items, flags.output, several ? [environmentColumn] : []);
  },
});

export const deleteCommand = command({
  name: 'delete',
  args: ['...functions'],
  description: 'Delete functions and all their resources.',
  flags: { ...discardFlags, ...yesFlag, ...waitFlags, ...scopeFlags },
  examples: ['svc function delete hello', 'svc function delete hello goodbye --yes'],
  async run({ context, args, flags }) {
    await deleteAll(context, flags, {
      kind: functionKind,
      scope: functionKind.resolve(context, flags),
      names: args.functions,
      query: discardQuery(flags),
      loss: flags.discardEvents ? 'all undelivered events' : undefined,
    });
  },
});
