import { z } from 'zod';
import { flag } from './common.ts';

/** A year. */
export const sinceMaxSeconds = 31_536_000;

/** What `GET …/apps/{a}/logs` and `GET …/functions/{f}/logs` may be asked. */
export const logLinesQuery = z.object({
  /** Goes on, as lines of JSON. */
  follow: flag,
  /** Of each container's life before this one. */
  previous: flag,
  /** Lines from the end, of each pod. */
  tail: z.coerce.number().int().min(1).max(10_000).default(1000),
  sinceSeconds: z.coerce.number().int().min(1).max(sinceMaxSeconds).optional(),
  sinceTime: z.iso.datetime().optional(),
});

export type LogLinesQuery = z.output<typeof logLinesQuery>;

/** What a pod printed; with `follow` each is one line of the answer. */
export const logLine = z.object({ pod: z.string(), time: z.string(), line: z.string() });

export type LogLineView = z.infer<typeof logLine>;

/** The answer without `follow`, by time. */
export const logLines = z.object({
  items: z.array(logLine),
  /** Whether of what was asked for the beginning is left out: of each pod at most the last MiB comes. */
  truncated: z.boolean().optional(),
});

/** What one pod printed. */
export const podLog = z.object({
  name: z.string(),
  /** Absent before the container has started. */
  log: z.string().optional(),
  /** Whether of what was asked for the beginning is left out: at most the last MiB comes. */
  truncated: z.boolean().optional(),
});
