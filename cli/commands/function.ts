import { functionView, type FunctionView } from '../../runtime/contracts/api/functions.ts';
import {
  functionMemory,
  functionReplicasMax,
  idleTimeoutMaxSeconds,
  requestTimeoutMaxSeconds,
  targetRateMax,
} from '../../runtime/contracts/resources/function.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { amount, duration, text, toggle, withoutDefaults, type FlagValues } from '../flags.ts';
import { resolveScope } from '../scope.ts';
import { newEnvironmentBody, newEnvironmentFlags } from '../new-environment.ts';
import { checkExclusive, podFlags, podRemovalFlags, podSettingsBody } from '../pod-settings.ts';
import { waitFlags } from '../wait.ts';
import { bindingCommands } from './workload-bind.ts';
import { deadLettersGroup, eventsCommand } from './function-events.ts';
import { deleteCommand, functionKind, listCommand } from './function-kind.ts';
import { invokeCommand } from './function-invoke.ts';
import { runCommand } from './function-local.ts';
import { restartableFunction, restartCommand } from './function-restart.ts';
import { logsCommand, runsCommand, scheduleCommand, testCommand } from './function-run.ts';
import { newSourceBody, sourceFlags, sourceBody, sourceRemovalFlags } from './function-source.ts';
import {
  checkNewTrigger,
  discardFlags,
  discardQuery,
  triggerFlags,
  triggerBody,
  triggerRemovalFlags,
} from './function-trigger.ts';
import { waitForUpdate } from './function-wait.ts';
import { metricsCommand } from './workload-metrics.ts';
import { podsCommand } from './workload-pods.ts';
import { execCommand } from './workload-exec.ts';
import { workloadGroups } from './workload-groups.ts';
import { securityBody, securityFlags } from './security-policy.ts';

const settingFlags = {
  ...triggerFlags,
  port: amount('<port>', 'port that the function listens on (default 8080)', { min: 1, max: 65_535 }),
  hostname: text('<host>', 'public host (default fn-<function>--<cluster>.<apps domain>, longer if taken)'),
  idleTimeout: duration('<duration>', 'idle time before scaling to zero, up to 1d (default 5m; events 30s)', {
    max: idleTimeoutMaxSeconds,
  }),
  concurrency: amount('<n>', 'concurrent requests per pod (default 100)', { min: 1, max: 1_000 }),
  targetRate: amount('<n>', 'requests per second of one pod (default 200)', { min: 1, max: targetRateMax }),
  requestTimeout: duration('<duration>', 'time to the start of the response, up to 1h (default 5m)', {
    max: requestTimeoutMaxSeconds,
  }),
  minReplicas: amount('<n>', 'minimum number of pods (default 0)', { min: 0, max: functionReplicasMax }),
  maxReplicas: amount('<n>', 'maximum number of pods (default 10)', { min: 1, max: functionReplicasMax }),
  ...podFlags({ memory: functionMemory }),
};

/** For `update`: resets settings. */
const removalFlags = {
  ...sourceRemovalFlags,
  defaultHostname: toggle('reset the public host'),
  ...podRemovalFlags,
  ...triggerRemovalFlags,
};

/** The fields of a request body for the flags. @throws Failure (usage) for a setting that is set and removed at once */
function settingsBody(flags: FlagValues<typeof settingFlags> & Partial<FlagValues<typeof removalFlags>>) {
  checkExclusive('hostname', flags.hostname !== undefined, flags.defaultHostname);
  return {
    ...podSettingsBody(flags),
    ...triggerBody(flags),
    ...(flags.port !== undefined && { port: flags.port }),
    ...(flags.hostname !== undefined && { hostname: flags.hostname }),
    ...(flags.defaultHostname && { hostname: null }),
    ...(flags.idleTimeout !== undefined && { idleTimeoutSeconds: flags.idleTimeout }),
    ...(flags.concurrency !== undefined && { concurrency: flags.concurrency }),
    ...(flags.targetRate !== undefined && { targetRate: flags.targetRate }),
    ...(flags.requestTimeout !== undefined && { requestTimeoutSeconds: flags.requestTimeout }),
    ...(flags.minReplicas !== undefined && { minReplicas: flags.minReplicas }),
    ...(flags.maxReplicas !== undefined && { maxReplicas: flags.maxReplicas }),
  };
}

const create = command({
  name: 'create',
  args: ['function'],
  description: 'Create a function from a source file or a container image.',
  flags: { ...sourceFlags, ...settingFlags, ...securityFlags, ...newEnvironmentFlags, ...waitFlags, ...scopeFlags },
  data: functionView,
  examples: [
    'svc function create hello --runtime node --code-file hello.js',
    'svc function create hello --runtime python --code-file hello.py',
    'svc function create hello --runtime node --code-file hello.js --idle-timeout 1h --project shop',
    'svc function create thumbs --code-file thumbs.js --concurrency 4 --min-replicas 1',
    'svc function create price --code-file price.py --dependency requests@2.32.3',
    'svc function create resize --image registry.example.com/shop/resize:3 --port 9000',
    'svc function create thumbs --code-file thumbs.js --env SIZE=320 --volume pictures:/data --memory 512Mi --cpu 500m',
    'svc function create orders --code-file orders.py --bind orders --secret API_KEY --env-file .env',
    'svc function create nightly --code-file nightly.js --trigger cron --schedule "0 2 * * *" --time-zone Europe/Berlin',
    'svc function create import --code-file import.js --trigger postgres --source orders --database shop --query "SELECT * FROM orders WHERE NOT done ORDER BY id" --mark-done "UPDATE orders SET done = true WHERE id = {{id}}"',
    'svc function create work --code-file work.py --trigger http --trigger redis --source cache --list jobs',
  ],
  async run({ context, args, flags }) {
    checkNewTrigger(flags);
    const settings = { ...(await newSourceBody(context, flags)), ...settingsBody(flags), ...securityBody(flags) };
    const scope = resolveScope(context, flags);
    const body = { name: args.function, ...settings, ...(await newEnvironmentBody(context, flags)) };
    const created = await functionKind.create(scope, body);
    const current = flags.wait ? await waitForUpdate(context, flags, scope, args.function) : created;
    functionKind.print(context, current, flags.output);
    if (flags.hostname === undefined) sayTakenHost(context, current);
  },
});

/** Says that another workload has the function's short default host, which is why its URL is longer (decision 0042). */
function sayTakenHost(context: Context, { name, project, environment, url }: FunctionView): void {
  const namespace = `--${project}-${environment}--`;
  if (!url?.includes(`//fn-${name}${namespace}`)) return;
  const { hostname } = new URL(url.replace(namespace, '--'));
  context.say(`${hostname} is taken, so ${name} answers at ${url}; --hostname chooses another host`);
}

const update = command({
  name: 'update',
  args: ['function'],
  description: 'Change a function. Other settings keep their values.',
  flags: {
    ...withoutDefaults({ ...sourceFlags, ...settingFlags }),
    ...removalFlags,
    ...discardFlags,
    ...waitFlags,
    ...scopeFlags,
  },
  suggestions: { '--env': 'svc function env set' },
  data: functionView,
  examples: [
    'svc function update hello --code-file hello.js',
    'svc function update hello --idle-timeout 1h --max-replicas 3',
    'svc function update thumbs --memory 1Gi --no-volumes',
    'svc function update resize --image registry.example.com/shop/resize:4',
    'svc function update nightly --schedule "0 3 * * *" --no-wait',
    'svc function update import --trigger http --trigger postgres --event-concurrency 4',
  ],
  async run({ context, args, flags }) {
    const body = { ...(await sourceBody(context, flags)), ...settingsBody(flags) };
    if (Object.keys(body).length === 0) throw usageFailure('Nothing to change. See svc function update --help.');
    const scope = resolveScope(context, flags);
    const path = scope.path('functions', args.function);
    const query = { ...scope.query, ...discardQuery(flags) };
    const changed = await scope.api.call('PATCH', path, functionView, { query, body });
    const current = flags.wait ? await waitForUpdate(context, flags, scope, args.function) : changed;
    functionKind.print(context, current, flags.output);
  },
});

const groups = workloadGroups(restartableFunction);

export const functionCommands: Commands = {
  commands: [
    create,
    update,
    restartCommand,
    listCommand,
    functionKind.show,
    ...bindingCommands(restartableFunction),
    invokeCommand,
    runCommand,
    testCommand,
    runsCommand,
    logsCommand,
    scheduleCommand,
    eventsCommand,
    deleteCommand,
    podsCommand('function'),
    metricsCommand('function'),
    execCommand('function'),
  ],
  groups: [groups.env, groups.secret, deadLettersGroup, groups.gate, groups.security],
};
