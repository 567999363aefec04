import { sinceMaxSeconds } from '../../runtime/contracts/api/logs.ts';
import { anyRunView } from '../../runtime/contracts/api/runs.ts';
import { nextRunsView, presetsView } from '../../runtime/contracts/api/schedules.ts';
import { command } from '../command.ts';
import { apiFlags, scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { duration, text } from '../flags.ts';
import { lineFlags, selectionFlags } from '../log-flags.ts';
import { printLines, selectsLines } from '../log-lines.ts';
import { fields, table, type Field } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { printLogs, printRuns, startRun } from '../runs.ts';
import { waitFlags } from '../wait.ts';
import { functionKind } from './function-kind.ts';

export const testCommand = command({
  name: 'test',
  args: ['function'],
  description: 'Run a cron function once now, in addition to its schedule.',
  flags: { ...waitFlags, ...scopeFlags },
  examples: ['svc function test nightly', 'svc function test nightly --no-wait'],
  run: ({ context, args, flags }) =>
    startRun(context, flags, { kind: 'function', name: args.function, path: 'test-runs', noun: 'test run' }),
});

export const runsCommand = command({
  name: 'runs',
  args: ['function'],
  description: 'List the stored runs of a cron function, newest first.',
  flags: scopeFlags,
  data: anyRunView,
  watch: true,
  examples: ['svc function runs nightly', 'svc function runs nightly -o json'],
  run: ({ context, args, flags }) => printRuns(context, flags, 'functions', args.function),
});

export const logsCommand = command({
  name: 'logs',
  args: ['function'],
  description: 'Show the logs of a function, or of one run of a cron function.',
  flags: {
    ...lineFlags,
    since: duration('<duration>', 'maximum age of lines, such as 6h (default 1h; any with -f or --previous)', {
      max: sinceMaxSeconds,
    }),
    run: text('<run>', 'run of a cron function (default: the newest; all with -f or --since)'),
    ...selectionFlags,
    ...scopeFlags,
  },
  examples: [
    'svc function logs hello',
    'svc function logs hello -f --since 15m',
    'svc function logs nightly --run nightly-29384750 -f',
  ],
  async run({ context, args, flags }) {
    const { follow, since, previous, run } = flags;
    const scope = resolveScope(context, flags);
    const ranged = follow || since !== undefined || previous || selectsLines(flags);
    if (run !== undefined && (since !== undefined || previous || selectsLines(flags))) {
      throw usageFailure('--run cannot be combined with flags that select lines of all runs.');
    }
    if (run !== undefined || (!ranged && (await isCron(scope, args.function)))) {
      await printLogs(context, flags, 'functions', args.function);
      return;
    }
    // docs/reference/logs.md: without a range the last hour is shown.
    const range = { ...flags, since: since ?? (follow || previous || flags.at ? undefined : 3_600) };
    await printLines(context, range, scope, {
      path: scope.path('functions', args.function, 'logs'),
      workload: args.function,
    });
  },
});

async function isCron(scope: Scope, name: string): Promise<boolean> {
  return (await functionKind.read(scope, name)).trigger === 'cron';
}

export const scheduleCommand = command({
  name: 'schedule',
  args: ['cron?'],
  description: 'Describe a schedule and show its next five runs, or list common schedules.',
  flags: { timeZone: text('<zone>', 'time zone of the schedule (default Etc/UTC)'), ...apiFlags },
  examples: ['svc function schedule', 'svc function schedule "0 9 * * 1" --time-zone Europe/Berlin'],
  async run({ context, args, flags }) {
    const api = context.api(flags);
    if (args.cron === undefined) {
      const { items } = await api.call('GET', '/schedules/presets', presetsView);
      const columns = [
        { title: 'SCHEDULE', value: ({ schedule }: (typeof items)[number]) => schedule },
        { title: 'DESCRIPTION', value: ({ description }: (typeof items)[number]) => description },
      ];
      const names = items.map(({ schedule }) => schedule);
      context.print({ data: items, table: table(items, columns), names }, flags.output);
      return;
    }
    const query = { schedule: args.cron, timeZone: flags.timeZone };
    const next = await api.call('GET', '/schedules/next', nextRunsView, { query });
    const record: Field[] = [
      ['Description', next.description],
      ['Time zone', next.timeZone],
      ['Next runs', next.nextRuns.join(', ')],
    ];
    context.print({ data: next, table: fields(record), names: next.nextRuns }, flags.output);
  },
});
