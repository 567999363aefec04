import { z } from 'zod';
import { appCommand, runStates } from '../resources/run.ts';
import { appRunTriggers } from '../resources/app.ts';
import { flag, timestamp } from './common.ts';
import { podLog, tailQuery } from './logs.ts';

/** One run of a workload. */
export function runView<const Trigger extends readonly [string, ...string[]]>(triggers: Trigger) {
  return z.object({
    name: z.string(),
    trigger: z.enum(triggers),
    status: z.enum(runStates),
    /** The user who requested it. */
    actor: z.string().optional(),
    createdAt: timestamp,
    startedAt: timestamp.optional(),
    endedAt: timestamp.optional(),
    message: z.string().optional(),
  });
}

/** `POST …/apps/{app}/runs` */
export const appRunCreate = z.strictObject({ command: appCommand });

/** A one-off run of an app. */
export const appRunView = runView(appRunTriggers).extend({ command: z.array(z.string()) });

/** A run of any workload. */
export const anyRunView = runView(['manual', 'schedule', 'cron', 'test', 'release']).extend({
  /** Of an app's run. */
  command: z.array(z.string()).optional(),
});

export type AnyRunView = z.infer<typeof anyRunView>;

/** 202 of a request for a run. */
export const runAccepted = z.object({ id: z.string(), status: z.literal('pending'), statusUrl: z.string() });

/** `GET …/logs`: of the newest run, or of the run `run`. */
export const logsQuery = z.object({
  run: z.string().max(63).optional().describe('The run’s name (default: the newest run).'),
  tail: tailQuery,
  /** The stream starts and ends with a {@link runMark}. */
  follow: flag.describe('Streams new lines as JSON lines until the run has ended.'),
  sinceTime: z.iso.datetime().optional().describe('With `follow`, only lines from this time on (RFC 3339, UTC).'),
});

export type RunLogsQuery = z.output<typeof logsQuery>;

/** The first and the last line of a streamed log; the last one has the outcome. `removed`: the outcome is unknown. */
export const runMark = z.object({
  run: z.string(),
  ended: z.enum(['succeeded', 'failed', 'removed']).optional(),
  message: z.string().optional(),
});

export type RunMark = z.infer<typeof runMark>;

export const runLogs = z.object({
  run: z.string(),
  /** The run's attempts, oldest first. */
  pods: z.array(podLog),
});
