import { jobView, runTimeoutMaxSeconds, type JobView } from '../../runtime/contracts/api/jobs.ts';
import { runOverlaps } from '../../runtime/contracts/resources/run.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
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
  unless,
  type FlagValues,
} from '../flags.ts';
import { ago, fields, table, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { removeAll } from '../removal.ts';
import { readMount, readVariable } from '../typed-values.ts';
import { waitFlags } from '../wait.ts';
import { messageColumn } from '../workload-message.ts';
import { logsCommand, runCommand, runsCommand } from './job-run.ts';

function shown(job: JobView): Shown {
  const { lastRun } = job;
  return {
    data: job,
    table: fields([
      ['Job', job.name],
      ['Project', job.project],
      ['Environment', job.environment],
      ['Status', job.status],
      ['Message', job.message],
      ['Out of memory', job.outOfMemory?.message],
      ['Image', job.image],
      ['Command', job.command && job.command.join(' ')],
      ['Schedule', job.schedule && `${job.schedule} (${job.timeZone})`],
      ['Next run', job.nextRunAt],
      ['Last run', lastRun && `${lastRun.name} ${lastRun.status}`],
      ['Last message', lastRun?.message],
      ['Memory', job.memory],
      ['CPU', job.cpu],
      ['Variables', Object.keys(job.env).join(', ') || undefined],
      ['Volumes', job.volumes.map(({ name, path }) => `${name}:${path}`).join(', ') || undefined],
    ]),
    names: [job.name],
  };
}

const readJob = (place: Place, name: string) =>
  place.api.call('GET', place.path('jobs', name), jobView, { query: place.query });

/** What `create` and `update` have in common. */
const settingFlags = {
  command: textsOrEmpty('<word>', "program and arguments instead of the image's own, a word each time"),
  shell: text('<line>', "shell line instead of the image's own program (needs /bin/sh in the image)"),
  env: texts('<NAME=value>', 'environment variable'),
  volume: texts('<name:/path>', 'volume and where it is mounted'),
  schedule: text('<cron>', 'cron expression of five fields, such as "0 2 * * *"'),
  timeZone: text('<zone>', 'time zone of the schedule (default Etc/UTC)'),
  overlap: choice(runOverlaps, 'scheduled runs while the one before goes on (default Forbid)'),
  retries: amount('<n>', 'further attempts of a run that fails (default 0)', { min: 0, max: 10 }),
  runTimeout: duration('<duration>', 'time after which a run is ended as failed (at most 30d)', {
    max: runTimeoutMaxSeconds,
  }),
  memory: text('<quantity>', 'memory limit, such as 512Mi'),
  cpu: text('<quantity>', 'CPU limit, such as 500m'),
  history: amount('<n>', 'ended runs that are kept, succeeded and failed each (default 5)', { min: 1, max: 20 }),
};

function settingsOf(flags: FlagValues<typeof settingFlags>): Record<string, unknown> {
  if (flags.command.length > 0 && flags.shell !== undefined) throw usageFailure('Give --command or --shell, not both.');
  const command = flags.shell === undefined ? flags.command : ['/bin/sh', '-c', flags.shell];
  const given = {
    ...(command.length > 0 && { command }),
    ...(flags.env.length > 0 && { env: Object.fromEntries(flags.env.map((typed) => readVariable(typed))) }),
    ...(flags.volume.length > 0 && { volumes: flags.volume.map(readMount) }),
    ...{ schedule: flags.schedule, timeZone: flags.timeZone, overlap: flags.overlap },
    ...{ retries: flags.retries, timeoutSeconds: flags.runTimeout, historyLimit: flags.history },
    ...{ memory: flags.memory, cpu: flags.cpu },
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

const create = command({
  name: 'create',
  args: ['job'],
  description: 'Create a job, which runs when asked to (svc job run) or on a schedule.',
  flags: {
    image: requiredText('<image>', 'image with registry, name and tag'),
    ...settingFlags,
    ...scopeFlags,
  },
  examples: [
    'svc job create migrate --image registry.example.com/shop/api:1.4.2 --command npm --command run --command migrate',
    'svc job create report --image registry.example.com/shop/report:7 --schedule "0 2 * * *" --volume data:/data',
  ],
  async run({ context, args, flags }) {
    const body = { name: args.job, image: flags.image, ...settingsOf(flags) };
    const place = placeOf(context, flags);
    const created = await place.api.call('POST', place.path('jobs'), jobView, { query: place.query, body });
    context.print(shown(created), flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['job'],
  description: 'Change a job; --env and --volume replace all that were there. Later runs have the change.',
  flags: {
    image: text('<image>', 'image with registry, name and tag'),
    ...settingFlags,
    manual: toggle('take the schedule away: run only when asked to'),
    volumes: unless('mount no volume any more'),
    suspend: toggle('let the schedule rest'),
    resume: toggle('let the schedule go on'),
    ...scopeFlags,
  },
  examples: ['svc job update report --image registry.example.com/shop/report:8', 'svc job update report --suspend'],
  async run({ context, args, flags }) {
    if (flags.suspend && flags.resume) throw usageFailure('Give --suspend or --resume, not both.');
    if (flags.manual && flags.schedule !== undefined) throw usageFailure('Give --schedule or --manual, not both.');
    if (!flags.volumes && flags.volume.length > 0) throw usageFailure('Give --volume or --no-volumes, not both.');
    const body = {
      ...(flags.image !== undefined && { image: flags.image }),
      ...settingsOf(flags),
      ...(flags.manual && { schedule: null }),
      ...(!flags.volumes && { volumes: null }),
      ...((flags.suspend || flags.resume) && { suspended: flags.suspend }),
    };
    if (Object.keys(body).length === 0) throw usageFailure('Give what to change; see svc job update --help.');
    const place = placeOf(context, flags);
    const changed = await place.api.call('PATCH', place.path('jobs', args.job), jobView, { query: place.query, body });
    context.print(shown(changed), flags.output);
  },
});

const list = command({
  name: 'list',
  description: 'List the jobs of an environment.',
  flags: scopeFlags,
  examples: ['svc job list', 'svc job list --project shop --environment prod -o name'],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const items = await place.api.list(place.path('jobs'), jobView, place.query);
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'JOB', value: ({ name }) => name },
          { title: 'STATUS', value: ({ status }) => status },
          { title: 'SCHEDULE', value: ({ schedule }) => schedule },
          { title: 'LAST RUN', value: ({ lastRun }) => lastRun && `${lastRun.status}, ${ago(lastRun.createdAt, now)}` },
          { title: 'IMAGE', value: ({ image }) => image },
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
  args: ['job'],
  description: 'Show a job.',
  flags: scopeFlags,
  examples: ['svc job show report', 'svc job show report -o json'],
  async run({ context, args, flags }) {
    context.print(shown(await readJob(placeOf(context, flags), args.job)), flags.output);
  },
});

const remove = command({
  name: 'delete',
  args: ['...jobs'],
  description: 'Delete jobs, their runs and the logs of these; runs that go on are ended.',
  flags: { ...yesFlag, ...waitFlags, ...scopeFlags },
  examples: ['svc job delete report', 'svc job delete report migrate --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const look = (name: string) => readJob(place, name);
    await removeAll(context, flags, place, { what: 'job', collection: 'jobs', names: args.jobs, look });
  },
});

export const jobCommands: Commands = {
  commands: [create, runCommand, list, show, update, runsCommand, logsCommand, remove],
};
