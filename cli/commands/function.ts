import { functionView, type FunctionView } from '../../runtime/contracts/api/functions.ts';
import {
  functionMemory,
  functionReplicasMax,
  idleTimeoutMaxSeconds,
  requestTimeoutMaxSeconds,
} from '../../runtime/contracts/resources/function.ts';
import { durationText } from '../../runtime/domain/duration.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { amount, duration, text, toggle, type FlagValues } from '../flags.ts';
import { ago, fields, table, type Column, type Field, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { notBoth, podFlags, podRemovalFlags, podSettingsOf, variableFlag } from '../pod-settings.ts';
import { removeAll } from '../removal.ts';
import { waitFlags } from '../wait.ts';
import { messageColumn } from '../workload-message.ts';
import { bindCommand, bindingsCommand, unbindCommand } from './function-bind.ts';
import { deadLettersGroup, eventsCommand } from './function-events.ts';
import { invokeCommand } from './function-invoke.ts';
import { runCommand } from './function-local.ts';
import { restartableFunction, restartCommand } from './function-restart.ts';
import { logsCommand, runsCommand, scheduleCommand, testCommand } from './function-run.ts';
import { newSourceOf, sourceFlags, sourceOf, sourceRemovalFlags } from './function-source.ts';
import {
  checkNewTrigger,
  discardFlags,
  eventFields,
  triggerFlags,
  triggerOf,
  triggerRemovalFlags,
  triggerText,
} from './function-trigger.ts';
import { readFunction, untilUpdated } from './function-wait.ts';
import { envGroup } from './workload-env.ts';
import { gateGroup } from './workload-gate.ts';
import { secretGroup } from './workload-secret.ts';
import { securityFlags, securityGroup, securityOf, securityText } from './workload-security.ts';

const servingFields = ({ readyReplicas, replicas, idleTimeoutSeconds, ...limits }: FunctionView): Field[] => [
  ['Pods', `${readyReplicas} of ${replicas} ready`],
  ['Scale', `${limits.minReplicas} to ${limits.maxReplicas} pods, ${limits.concurrency} requests at once each`],
  ['Idle time-out', durationText(idleTimeoutSeconds)],
  ['Request time-out', durationText(limits.requestTimeoutSeconds)],
];

const scheduleFields = ({ schedule, timeZone, overlap, nextRuns = [], lastRun }: FunctionView): Field[] => [
  ['Schedule', `${schedule} (${timeZone})`],
  ['Next runs', nextRuns.join(', ') || undefined],
  ['Overlap', overlap === 'Forbid' ? undefined : overlap],
  ['Last run', lastRun && `${lastRun.name} ${lastRun.status}`],
];

function shown(found: FunctionView): Shown {
  return {
    data: found,
    table: fields([
      ['Function', found.name],
      ['Project', found.project],
      ['Environment', found.environment],
      ['Status', found.status],
      ['Message', found.message],
      ['Out of memory', found.outOfMemory?.message],
      ['URL', found.url],
      ['Runtime', found.runtime],
      ['Image', found.image],
      // Code listens where the platform tells it to.
      ['Port', found.image === undefined ? undefined : found.port],
      ['Gate', found.gate],
      ['Security', found.security && securityText(found.security)],
      ['Dependencies', found.dependencies?.join(', ') || undefined],
      ['Trigger', triggerText(found)],
      ...eventFields(found),
      ['Bindings', found.bindings?.map(({ service, status }) => `${service} (${status})`).join(', ')],
      ...(found.trigger === 'cron' ? scheduleFields(found) : servingFields(found)),
      ['Memory', found.memory],
      ['CPU', found.cpu],
      ['Variables', Object.keys(found.env).join(', ') || undefined],
      ['Volumes', found.volumes.map(({ name, path }) => `${name}:${path}`).join(', ') || undefined],
      ['Changes', found.pendingRestart ? `of settings wait for svc function restart ${found.name}` : undefined],
    ]),
    names: [found.name],
  };
}

const settingFlags = {
  ...triggerFlags,
  port: amount('<port>', 'port on which it listens (default 8080)', { min: 1, max: 65_535 }),
  hostname: text('<host>', 'public host (default fn-<function>--<cluster>.<apps domain>)'),
  idleTimeout: duration(
    '<duration>',
    'time without requests after which it goes to zero (default 5m, at most 1d; without events 30s at most)',
    { max: idleTimeoutMaxSeconds },
  ),
  concurrency: amount('<n>', 'requests that one pod gets at once; the others wait (default 100)', {
    min: 1,
    max: 1_000,
  }),
  requestTimeout: duration('<duration>', 'time in which it has to begin its answer (default 5m, at most 1h)', {
    max: requestTimeoutMaxSeconds,
  }),
  minReplicas: amount('<n>', 'pods that stay without requests (default 0)', { min: 0, max: functionReplicasMax }),
  maxReplicas: amount('<n>', 'pods that there are at most (default 10)', { min: 1, max: functionReplicasMax }),
  ...podFlags({ memory: functionMemory }),
};

/** Of `update` alone: back to the default, or to nothing. */
const removalFlags = {
  ...sourceRemovalFlags,
  defaultHostname: toggle('take the public host that it has by its name'),
  ...podRemovalFlags,
  ...triggerRemovalFlags,
};

/** What the flags say, as the API takes it. @throws Failure (usage) for a setting that is given and taken away at once */
function settingsOf(
  flags: FlagValues<typeof settingFlags> & Partial<FlagValues<typeof removalFlags & typeof variableFlag>>,
) {
  notBoth('hostname', flags.hostname !== undefined, flags.defaultHostname);
  return {
    ...podSettingsOf(flags),
    ...triggerOf(flags),
    ...(flags.port !== undefined && { port: flags.port }),
    ...(flags.hostname !== undefined && { hostname: flags.hostname }),
    ...(flags.defaultHostname && { hostname: null }),
    ...(flags.idleTimeout !== undefined && { idleTimeoutSeconds: flags.idleTimeout }),
    ...(flags.concurrency !== undefined && { concurrency: flags.concurrency }),
    ...(flags.requestTimeout !== undefined && { requestTimeoutSeconds: flags.requestTimeout }),
    ...(flags.minReplicas !== undefined && { minReplicas: flags.minReplicas }),
    ...(flags.maxReplicas !== undefined && { maxReplicas: flags.maxReplicas }),
  };
}

const create = command({
  name: 'create',
  args: ['function'],
  description: 'Create a function from a source file or a container image; it has no pods until it is called.',
  flags: {
    ...sourceFlags,
    ...settingFlags,
    ...securityFlags,
    ...variableFlag,
    ...waitFlags,
    ...scopeFlags,
  },
  examples: [
    'svc function create hello --runtime node --code-file hello.js',
    'svc function create hello --runtime python --code-file hello.py',
    'svc function create hello --runtime node --code-file hello.js --idle-timeout 1h --project shop',
    'svc function create thumbs --code-file thumbs.js --concurrency 4 --min-replicas 1',
    'svc function create price --code-file price.py --dependency requests@2.32.3',
    'svc function create resize --image registry.example.com/shop/resize:3 --port 9000',
    'svc function create thumbs --code-file thumbs.js --env SIZE=320 --volume pictures:/data --memory 512Mi --cpu 500m',
    'svc function create nightly --code-file nightly.js --trigger cron --schedule "0 2 * * *" --time-zone Europe/Berlin',
    'svc function create import --code-file import.js --trigger postgres --source orders --database shop --query "SELECT * FROM orders WHERE NOT done ORDER BY id" --mark-done "UPDATE orders SET done = true WHERE id = {{id}}"',
    'svc function create work --code-file work.py --trigger http --trigger redis --source cache --list jobs',
  ],
  async run({ context, args, flags }) {
    checkNewTrigger(flags);
    const body = {
      name: args.function,
      ...newSourceOf(flags),
      ...settingsOf(flags),
      ...securityOf(flags),
    };
    const place = placeOf(context, flags);
    const created = await place.api.call('POST', place.path('functions'), functionView, { query: place.query, body });
    const found = flags.wait ? await untilUpdated(context, flags, place, args.function) : created;
    context.print(shown(found), flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['function'],
  description:
    'Change a function and follow it to its end; pods are replaced without losing a request, and what is not named stays.',
  flags: {
    ...sourceFlags,
    ...settingFlags,
    ...removalFlags,
    ...discardFlags,
    ...waitFlags,
    ...scopeFlags,
  },
  examples: [
    'svc function update hello --code-file hello.js',
    'svc function update hello --idle-timeout 1h --max-replicas 3',
    'svc function update thumbs --memory 1Gi --no-volumes',
    'svc function update resize --image registry.example.com/shop/resize:4',
    'svc function update nightly --schedule "0 3 * * *" --no-wait',
    'svc function update import --trigger http --trigger postgres --event-concurrency 4',
  ],
  async run({ context, args, flags }) {
    const body = { ...sourceOf(flags), ...settingsOf(flags) };
    if (Object.keys(body).length === 0) throw usageFailure('Give what to change, such as --code-file <file>.');
    const place = placeOf(context, flags);
    const path = place.path('functions', args.function);
    const query = { ...place.query, ...discarding(flags) };
    const changed = await place.api.call('PATCH', path, functionView, { query, body });
    const found = flags.wait ? await untilUpdated(context, flags, place, args.function) : changed;
    context.print(shown(found), flags.output);
  },
});

const discarding = ({ discardEvents }: FlagValues<typeof discardFlags>) =>
  discardEvents ? { discardEvents: 'true' } : {};

/** The columns of what calls a function, of those that are there. */
function calledBy(items: readonly FunctionView[], now: Date): Column<FunctionView>[] {
  const schedule: Column<FunctionView>[] = [
    { title: 'SCHEDULE', value: ({ schedule }) => schedule },
    { title: 'LAST RUN', value: ({ lastRun }) => lastRun && `${lastRun.status}, ${ago(lastRun.createdAt, now)}` },
  ];
  const source: Column<FunctionView> = {
    title: 'EVENTS',
    value: ({ events }) => events && `${events.type} ${events.source}`,
  };
  const scheduled = items.some(({ trigger }) => trigger === 'cron');
  return [
    ...(scheduled ? schedule : []),
    ...(items.some(({ events }) => events) ? [source] : []),
    { title: 'URL', value: ({ url }) => url },
  ];
}

const list = command({
  name: 'list',
  description: 'List the functions of an environment; without a project, all that you may see.',
  flags: scopeFlags,
  examples: ['svc function list', 'svc function list --project shop'],
  async run({ context, flags }) {
    const named = flags.project ?? (context.env['SVC_PROJECT'] || context.configuration.project);
    const place = named === undefined ? undefined : placeOf(context, flags);
    if (!place && flags.environment !== undefined) throw usageFailure('--environment goes with --project.');
    const items = place
      ? await place.api.list(place.path('functions'), functionView, place.query)
      : await context.api(flags).list('/functions', functionView);
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'FUNCTION', value: ({ name }) => name },
          ...(place
            ? []
            : [
                {
                  title: 'ENVIRONMENT',
                  // Somebody may have made one in a namespace that is no environment.
                  value: ({ project, environment }: FunctionView) => project && `${project}/${environment}`,
                },
              ]),
          { title: 'STATUS', value: ({ status }) => status },
          { title: 'PODS', value: ({ replicas }) => replicas },
          { title: 'RUNTIME', value: ({ runtime }) => runtime ?? 'image' },
          ...calledBy(items, now),
          { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
          ...messageColumn(items, now),
        ]),
        names: items.map(({ name }) => name),
      },
      flags.output,
    );
  },
});

const show = command({
  name: 'show',
  args: ['function'],
  description: 'Show a function.',
  flags: scopeFlags,
  examples: ['svc function show hello', 'svc function show hello -o json'],
  async run({ context, args, flags }) {
    context.print(shown(await readFunction(placeOf(context, flags), args.function)), flags.output);
  },
});

const remove = command({
  name: 'delete',
  args: ['...functions'],
  description: 'Delete functions and everything that was made for them.',
  flags: { ...discardFlags, ...yesFlag, ...waitFlags, ...scopeFlags },
  examples: ['svc function delete hello', 'svc function delete hello goodbye --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const look = (name: string) => readFunction(place, name);
    await removeAll(context, flags, place, {
      ...{ what: 'function', collection: 'functions', names: args.functions, look, query: discarding(flags) },
      ...(flags.discardEvents && { lost: ', with the events that were not delivered' }),
    });
  },
});

export const functionCommands: Commands = {
  commands: [
    ...[create, update, restartCommand, list, show],
    ...[bindCommand, unbindCommand, bindingsCommand, invokeCommand, runCommand],
    ...[testCommand, runsCommand, logsCommand, scheduleCommand, eventsCommand, remove],
  ],
  groups: [
    ...[envGroup(restartableFunction), secretGroup(restartableFunction), deadLettersGroup],
    gateGroup({ what: 'function', article: 'a function', example: 'hello' }),
    securityGroup({ what: 'function', article: 'a function', example: 'hello' }),
  ],
};
