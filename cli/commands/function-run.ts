import { runAccepted } from '../../runtime/contracts/api/runs.ts';
import { nextRunsView, presetsView } from '../../runtime/contracts/api/schedules.ts';
import { command } from '../command.ts';
import { apiFlags, scopeFlags } from '../common-flags.ts';
import { amount, text } from '../flags.ts';
import { table } from '../output.ts';
import { placeOf } from '../place.ts';
import { printLogs, printRuns, shownRun, waitForRun } from '../runs.ts';
import { waitFlags } from '../wait.ts';

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
  description: 'Show what the newest run of a cron function printed, or another one.',
  flags: {
    run: text('<run>', 'name of the run (default: the newest)'),
    tail: amount('<lines>', 'lines from the end (default 1000)', { min: 1, max: 10_000 }),
    ...scopeFlags,
  },
  examples: ['svc function logs nightly', 'svc function logs nightly --run nightly-29384750 --tail 50'],
  run: ({ context, args, flags }) => printLogs(context, flags, 'functions', args.function),
});

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
