import { z } from 'zod';
import { runStates } from '../resources/run.ts';
import { flag, timestamp } from './common.ts';
import { podLog } from './logs.ts';

/** One run of a workload, which one of these caused. */
export function runView<const Trigger extends readonly [string, ...string[]]>(triggers: Trigger) {
  return z.object({
    name: z.string(),
    trigger: z.enum(triggers),
    status: z.enum(runStates),
    /** Who asked for it. */
    actor: z.string().optional(),
    createdAt: timestamp,
    startedAt: timestamp.optional(),
    endedAt: timestamp.optional(),
    message: z.string().optional(),
  });
}

/** A run of any workload. */
export const anyRunView = runView(['manual', 'schedule', 'cron', 'test']);

export type AnyRunView = z.infer<typeof anyRunView>;

/** 202 of a request for a run. */
export const runAccepted = z.object({ id: z.string(), status: z.literal('pending'), statusUrl: z.string() });

/** `GET …/logs`: of the newest run, or of `run`. */
export const logsQuery = z.object({
  run: z.string().max(63).optional(),
  /** Lines from the end, of each attempt. */
  tail: z.coerce.number().int().min(1).max(10_000).default(1000),
  /** Goes on until the run has ended, as lines of JSON: a {@link runMark}, each line that is printed, and a last mark. */
  follow: flag,
  /** With `follow`: lines from this time on. */
  sinceTime: z.iso.datetime().optional(),
});

export type RunLogsQuery = z.output<typeof logsQuery>;

/** What the first line of a followed log says, and the last one, with how the run ended; `removed`: nobody can tell. */
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

export type RunLogs = z.infer<typeof runLogs>;
