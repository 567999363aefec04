import { at, fn, job, list, recording } from '../recording.ts';
import type { Task } from '../task.ts';

const run = (change: object) => ({
  name: 'report-29384750',
  trigger: 'schedule',
  status: 'failed',
  createdAt: at(-480),
  startedAt: at(-480),
  endedAt: at(-479),
  ...change,
});
const page = { job: 'report', environment: 'prod' };

/** Jobs and functions with a schedule. */
export const scheduleTasks: readonly Task[] = [
  {
    name: 'job: a failed run',
    question: 'Why did the last run of report fail?',
    page,
    state: recording({
      jobs: [job()],
      more: {
        '/jobs/report/runs': list(run({ message: 'The container failed (exit code 1)' })),
        '/jobs/report/run-logs': {
          run: 'report-29384750',
          pods: [
            {
              name: 'report-29384750-a',
              log: 'connecting to smtp.example.com:587\nError: 535 authentication failed\n',
            },
          ],
        },
      },
    }),
    reads: [
      ['list_runs', { kind: 'job', name: 'report' }],
      ['show_run_log', { kind: 'job', name: 'report' }],
    ],
    facts: { cause: /authenticat|535|credential|password/i, server: /smtp/i },
    answer: 'The mail server `smtp.example.com` refused the login (535 authentication failed).',
  },
  {
    name: 'job: a suspended schedule',
    question: 'Why did report not run last night?',
    page,
    state: recording({
      jobs: [job({ suspended: true, status: 'suspended' })],
      more: { '/jobs/report/runs': list(run({ status: 'succeeded', createdAt: at(-4_800) })) },
    }),
    reads: [['show_workload', { kind: 'job', name: 'report' }]],
    facts: { cause: /suspend|paused/i },
    wrong: /crash/i,
    answer: 'Its schedule is suspended.',
  },
  {
    name: 'job: a run that has not ended',
    question: 'Why was the run of report at 02:00 left out?',
    page,
    state: recording({
      jobs: [job({ status: 'running' })],
      more: {
        '/jobs/report/runs': list(
          run({
            status: 'running',
            name: 'report-29383310',
            createdAt: at(-1_920),
            startedAt: at(-1_920),
            endedAt: undefined,
          }),
        ),
      },
    }),
    reads: [
      ['show_workload', { kind: 'job', name: 'report' }],
      ['list_runs', { kind: 'job', name: 'report' }],
    ],
    facts: { cause: /still|running|not ended|not finished/i, rule: /Forbid|overlap/i },
    answer: 'The run of the day before is still running, and the job forbids an overlap (Forbid).',
  },
  {
    name: 'job: a time-out',
    question: 'Why did report stop in the middle?',
    page,
    state: recording({
      jobs: [job({ timeoutSeconds: 600 })],
      more: {
        '/jobs/report/runs': list(run({ message: 'The run exceeded its time limit of 600 seconds.' })),
        '/jobs/report/run-logs': { run: 'report-29384750', pods: [{ name: 'a', log: 'page 811 of 2000\n' }] },
      },
    }),
    reads: [['list_runs', { kind: 'job', name: 'report' }]],
    facts: { cause: /time|limit/i, limit: /600|10 minutes|ten minutes/i },
    answer: 'It exceeded its time limit of 600 seconds.',
  },
  {
    name: 'cron: a time zone',
    question: 'When does nightly run in UTC, and in which time zone is its schedule?',
    page: { function: 'nightly', environment: 'prod' },
    state: recording({
      functions: [
        fn({
          name: 'nightly',
          trigger: 'cron',
          status: 'scheduled',
          schedule: '30 1 * * *',
          scheduleDescription: 'At 01:30 AM',
          timeZone: 'Europe/Berlin',
          overlap: 'Forbid',
          nextRuns: ['2026-11-25T00:30:00Z', '2026-11-26T00:30:00Z'],
        }),
      ],
    }),
    reads: [['show_workload', { kind: 'function', name: 'nightly' }]],
    facts: { utc: /0?0:30/, zone: /Berlin/ },
    answer: 'At 00:30 UTC: its schedule is 01:30 in Europe/Berlin.',
  },
  {
    name: 'cron: a new schedule',
    question: 'Which cron expression runs a job at 7:30 on every weekday?',
    state: {
      ...recording({}),
      '/schedules/next': {
        schedule: '30 7 * * 1-5',
        description: 'At 07:30 AM, Monday through Friday',
        timeZone: 'Etc/UTC',
        nextRuns: ['2026-11-25T07:30:00Z', '2026-11-26T07:30:00Z'],
      },
    },
    reads: [['show_schedule', { schedule: '30 7 * * 1-5' }]],
    facts: { expression: /30 7 \* \* (1-5|MON-FRI)/i },
    answer: '`30 7 * * 1-5`: at 07:30 UTC, Monday to Friday.',
  },
];
