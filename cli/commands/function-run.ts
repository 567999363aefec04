import { sinceMaxSeconds } from '../../runtime/contracts/api/logs.ts';
import { runAccepted } from '../../runtime/contracts/api/runs.ts';
import { nextRunsView, presetsView } from '../../runtime/contracts/api/schedules.ts';
import { command } from '../command.ts';
import { apiFlags, scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { duration, text } from '../flags.ts';
import { lineFlags, printLines } from '../log-lines.ts';
import { table } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { printLogs, printRuns, shownRun, waitForRun } from '../runs.ts';
import { waitFlags } from '../wait.ts';
import { readFunction } from './function-wait.ts';

export const testCommand = command({
  name: 'test',
  args: ['function'],
  description: 'Run a cron function once, now, and wait for its end; its schedule stays as it is.',
  flags: { ...waitFlags, ...scopeFlags },
  examples: ['svc function test nightly', 'svc function test nightly --no-wait'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('functions', args.function, 'test-runs');
    const accepted = await place.api.call('POST', path, runAccepted, { query: place.query });
    if (!flags.wait) {
      const said = `test run ${accepted.id} is accepted`;
      context.print({ data: accepted, table: said, names: [accepted.id] }, flags.output);
      return;
    }
    const logs = `svc function logs ${args.function} --run ${accepted.id} ${place.flags}`;
    const wanted = { collection: 'functions', name: args.function, run: accepted.id, logs } as const;
    context.print(shownRun(await waitForRun(context, flags, place, wanted)), flags.output);
  },
});

export const runsCommand = command({
  name: 'runs',
  args: ['function'],
  description: 'List the runs of a cron function that are kept, newest first.',
  flags: scopeFlags,
  examples: ['svc function runs nightly', 'svc function runs nightly -o json'],
  run: ({ context, args, flags }) => printRuns(context, flags, 'functions', args.function),
});

export const logsCommand = command({
  name: 'logs',
  args: ['function'],
  description:
    'Show what the pods of a function printed, as far back as they are kept; of a cron function, what a run printed.',
  flags: {
    ...lineFlags,
    since: duration(
      '<duration>',
      'not older than this, such as 15m, 6h or 7d (default 1h; with -f or --previous: any)',
      { max: sinceMaxSeconds },
    ),
    run: text('<run>', 'of a cron function: name of the run (default: the newest; with -f or --since all)'),
    ...scopeFlags,
  },
  examples: [
    'svc function logs hello',
    'svc function logs hello -f --since 15m',
    'svc function logs nightly --run nightly-29384750 -f',
  ],
  async run({ context, args, flags }) {
    const { follow, since, previous, run } = flags;
    const place = placeOf(context, flags);
    const ranged = follow || since !== undefined || previous;
    if (run !== undefined && (since !== undefined || previous)) {
      throw usageFailure('Give --run, with -f if you like, or --since and --previous.');
    }
    if (run !== undefined || (!ranged && (await isCron(place, args.function)))) {
      await printLogs(context, flags, 'functions', args.function);
      return;
    }
    // The range that people look at first (spec.md §8).
    const range = { ...flags, since: since ?? (follow || previous ? undefined : 3_600) };
    await printLines(context, range, place, {
      path: place.path('functions', args.function, 'logs'),
      workload: args.function,
    });
  },
});

async function isCron(place: Place, name: string): Promise<boolean> {
  const found = await readFunction(place, name);
  return found.trigger === 'cron';
}

export const scheduleCommand = command({
  name: 'schedule',
  args: ['cron?'],
  description: 'Show the next five times of a schedule; without one, schedules to choose from.',
  flags: { timeZone: text('<zone>', 'time zone of the schedule (default Etc/UTC)'), ...apiFlags },
  examples: ['svc function schedule', 'svc function schedule "0 9 * * 1" --time-zone Europe/Berlin'],
  async run({ context, args, flags }) {
    const api = context.api(flags);
    if (args.cron === undefined) {
      const { items } = await api.call('GET', '/schedules/presets', presetsView);
      const columns = [
        { title: 'SCHEDULE', value: ({ schedule }: (typeof items)[number]) => schedule },
        { title: 'IN UTC', value: ({ description }: (typeof items)[number]) => description },
      ];
      const names = items.map(({ schedule }) => schedule);
      context.print({ data: items, table: table(items, columns), names }, flags.output);
      return;
    }
    const query = { schedule: args.cron, timeZone: flags.timeZone };
    const found = await api.call('GET', '/schedules/next', nextRunsView, { query });
    context.print({ data: found, table: found.nextRuns.join('\n'), names: found.nextRuns }, flags.output);
  },
});
