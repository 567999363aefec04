import { variablesView } from '../../runtime/contracts/api/variables.ts';
import { jobView, runTimeoutMaxSeconds, type JobView } from '../../runtime/contracts/api/jobs.ts';
import { runOverlaps } from '../../runtime/contracts/resources/run.ts';
import { command, type Commands } from '../command.ts';
import { commandWords } from '../command-line.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import {
  amount,
  choice,
  duration,
  requiredText,
  text,
  texts,
  textsOrEmpty,
  toggle,
  negated,
  withoutDefaults,
  type FlagValues,
} from '../flags.ts';
import { defineKind } from '../kind.ts';
import { ageColumn, ago } from '../output.ts';
import { resolveScope } from '../scope.ts';
import { readMount, readVariable } from '../key-values.ts';
import { newEnvironmentBody, newEnvironmentFlags } from '../new-environment.ts';
import { messageColumn, mountsText } from '../workload-columns.ts';
import { configurableJob } from './job-environment.ts';
import { logsCommand, runCommand, runsCommand } from './job-run.ts';
import { bindingCommands } from './workload-bind.ts';
import { workloadGroups } from './workload-groups.ts';
import { metricsCommand } from './workload-metrics.ts';
import { execCommand } from './workload-exec.ts';

const jobKind = defineKind<JobView>({
  name: 'job',
  level: 'environment',
  collection: 'jobs',
  schema: jobView,
  id: ({ name }) => name,
  examples: ['report', 'migrate'],
  columns: (items, { now }) => [
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'SCHEDULE', value: ({ schedule }) => schedule },
    { title: 'DESCRIPTION', value: ({ scheduleDescription }) => scheduleDescription },
    { title: 'LAST RUN', value: ({ lastRun }) => lastRun && `${lastRun.status}, ${ago(lastRun.createdAt, now)}` },
    { title: 'IMAGE', value: ({ image }) => image },
    ageColumn(now),
    ...messageColumn(items, now),
  ],
  details: (view) => [
    ['Job', view.name],
    ['Project', view.project],
    ['Environment', view.environment],
    ['Status', view.status],
    ['Message', view.message],
    ['Out of memory', view.outOfMemory?.message],
    ['Image', view.image],
    ['Command', view.command?.join(' ')],
    ['Schedule', view.schedule && `${view.schedule} (${view.timeZone})`],
    ['Description', view.scheduleDescription],
    ['Next run', view.nextRunAt],
    ['Last run', view.lastRun && `${view.lastRun.name} ${view.lastRun.status}`],
    ['Last message', view.lastRun?.message],
    ['Memory', view.memory],
    ['CPU', view.cpu],
    ['Variables', Object.keys(view.env).join(', ') || undefined],
    ['Bindings', view.bindings?.map(({ service, status }) => `${service} (${status})`).join(', ')],
    ['Volumes', mountsText(view.volumes)],
  ],
  help: { delete: 'Delete jobs with their runs and logs. Current runs are stopped.' },
});

/** For `create` and `update`. */
const settingFlags = {
  command: textsOrEmpty('<line>', "command to run instead of the image's (several: one word each)"),
  shell: text('<line>', 'shell command to run instead (requires /bin/sh in the image)'),
  volume: texts('<name:/path>', 'volume and mount path'),
  schedule: text('<cron>', 'five-field cron expression, such as "0 2 * * *"'),
  timeZone: text('<zone>', 'time zone of the schedule (default Etc/UTC)'),
  overlap: choice(runOverlaps, 'policy for overlapping scheduled runs (default Forbid)'),
  retries: amount('<n>', 'retries of a failed run (default 0)', { min: 0, max: 10 }),
  runTimeout: duration('<duration>', 'maximum duration of a run, up to 30d', { max: runTimeoutMaxSeconds }),
  memory: text('<quantity>', 'memory limit, such as 512Mi'),
  cpu: text('<quantity>', 'CPU limit, such as 500m'),
  history: amount('<n>', 'succeeded and failed runs to keep, each (default 5)', { min: 1, max: 20 }),
};

function settingsBody(flags: FlagValues<typeof settingFlags>): Record<string, unknown> {
  if (flags.command.length > 0 && flags.shell !== undefined) throw usageFailure('Use either --command or --shell.');
  const command =
    flags.shell === undefined
      ? commandWords(flags.command, { flag: '--command', hint: 'Use --shell.' })
      : ['/bin/sh', '-c', flags.shell];
  const values = {
    ...(command.length > 0 && { command }),
    ...(flags.volume.length > 0 && { volumes: flags.volume.map(readMount) }),
    schedule: flags.schedule,
    timeZone: flags.timeZone,
    overlap: flags.overlap,
    retries: flags.retries,
    timeoutSeconds: flags.runTimeout,
    historyLimit: flags.history,
    memory: flags.memory,
    cpu: flags.cpu,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

const create = command({
  name: 'create',
  args: ['job'],
  description: 'Create a job that runs on demand or on a schedule.',
  flags: {
    image: requiredText('<image>', 'image with registry, name and tag'),
    ...settingFlags,
    ...newEnvironmentFlags,
    ...scopeFlags,
  },
  data: jobKind.schema,
  examples: [
    'svc job create seed --image registry.example.com/shop/api:1.4.2 --command "npm run seed" --bind orders',
    'svc job create report --image registry.example.com/shop/report:7 --schedule "0 2 * * *" --volume data:/data',
  ],
  async run({ context, args, flags }) {
    const environment = await newEnvironmentBody(context, flags);
    const body = { name: args.job, image: flags.image, ...settingsBody(flags), ...environment };
    jobKind.print(context, await jobKind.create(resolveScope(context, flags), body), flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['job'],
  description: 'Change a job for later runs. --volume replaces all mounts.',
  flags: {
    image: text('<image>', 'image with registry, name and tag'),
    ...withoutDefaults(settingFlags),
    env: texts('<NAME=value>', 'variable to set; the others stay, as with svc job env set'),
    manual: toggle('remove the schedule'),
    volumes: negated('unmount all volumes'),
    suspend: toggle('suspend the schedule'),
    resume: toggle('resume the schedule'),
    ...scopeFlags,
  },
  data: jobKind.schema,
  examples: ['svc job update report --image registry.example.com/shop/report:8', 'svc job update report --suspend'],
  async run({ context, args, flags }) {
    if (flags.suspend && flags.resume) throw usageFailure('Use either --suspend or --resume.');
    if (flags.manual && flags.schedule !== undefined) throw usageFailure('Use either --schedule or --manual.');
    if (!flags.volumes && flags.volume.length > 0) throw usageFailure('Use either --volume or --no-volumes.');
    const body = {
      ...(flags.image !== undefined && { image: flags.image }),
      ...settingsBody(flags),
      ...(flags.manual && { schedule: null }),
      ...(!flags.volumes && { volumes: null }),
      ...((flags.suspend || flags.resume) && { suspended: flags.suspend }),
    };
    const hasSettings = Object.keys(body).length > 0;
    if (!hasSettings && flags.env.length === 0) throw usageFailure('Nothing to change. See svc job update --help.');
    const variables = Object.fromEntries(flags.env.map((typed) => readVariable(typed)));
    const scope = resolveScope(context, flags);
    const updated = hasSettings ? await jobKind.update(scope, args.job, body) : undefined;
    if (flags.env.length > 0) {
      const path = scope.path('jobs', args.job, 'env');
      await scope.api.call('PATCH', path, variablesView, { query: scope.query, body: variables });
    }
    const job = flags.env.length > 0 ? await jobKind.read(scope, args.job) : updated;
    if (job) jobKind.print(context, job, flags.output);
  },
});

const groups = workloadGroups(configurableJob);

export const jobCommands: Commands = {
  commands: [
    create,
    runCommand,
    jobKind.list,
    jobKind.show,
    update,
    ...bindingCommands(configurableJob),
    runsCommand,
    logsCommand,
    metricsCommand('job'),
    execCommand('job'),
    jobKind.delete,
  ],
  groups: [groups.env, groups.secret],
};
