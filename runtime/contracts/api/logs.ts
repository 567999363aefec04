import { z } from 'zod';
import { logLevels } from '../../domain/log-level.ts';
import { flag } from './common.ts';

/** Seconds of a range that a request does not name. */
export const sinceDefaultSeconds = 3_600;

/** A year. */
export const sinceMaxSeconds = 31_536_000;

/** Lines that are read when a request names neither a number nor a time to continue from. */
const tailDefault = 1000;

/** A number of lines from the end of a log. */
export const lineCount = z.coerce.number().int().min(1).max(10_000).optional();

/** `tail` of a request for the log of a run, which can have several pods. */
export const tailQuery = lineCount.describe(
  `Number of lines from the end of each log (default ${tailDefault}; with \`follow\` and \`sinceTime\`, all lines).`,
);

/** The number of lines that a request asks for; undefined for all. A stream that continues must not leave lines out. */
export function tailOf(query: { tail?: number | undefined; follow: boolean; sinceTime?: string | undefined }) {
  const continues = query.follow && query.sinceTime !== undefined;
  return query.tail ?? (continues ? undefined : tailDefault);
}

/** Query of `GET …/logs` of apps, functions and jobs. */
export const logLinesQuery = z.object({
  follow: flag.describe('Streams new lines as JSON lines.'),
  previous: flag.describe('Shows the log of the previous container of each pod.'),
  tail: lineCount.describe(
    `Number of lines from the end (default ${tailDefault}; with \`follow\` or \`previous\` of each pod, and with \`follow\` and \`sinceTime\` all).`,
  ),
  sinceSeconds: z.coerce
    .number()
    .int()
    .min(1)
    .max(sinceMaxSeconds)
    .optional()
    .describe(`Only lines of the last seconds (default ${sinceDefaultSeconds}).`),
  sinceTime: z.iso.datetime().optional().describe('Only lines from this time on (RFC 3339, UTC).'),
  until: z.iso.datetime().optional().describe('Only lines before this time (RFC 3339, UTC); not with `follow`.'),
  search: z.string().min(1).max(200).optional().describe('Only lines that contain this text.'),
  level: z
    .enum(logLevels)
    .optional()
    .describe('Only JSON lines with at least this level in `level`, `lvl` or `severity`.'),
  pod: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{0,252}$/)
    .optional()
    .describe('Only lines of this pod.'),
  all: flag.describe('Streams all lines as JSON lines, and then `{"end": true}`; not with `follow`.'),
});

/** What the log store has for a range; it is `disabled` when the installation has none. */
const logStoreState = z.enum(['ok', 'unavailable', 'disabled']);

export type LogStoreState = z.infer<typeof logStoreState>;

export type LogLinesQuery = z.output<typeof logLinesQuery>;

/** One line of a pod's log; with `follow`, one line of the response. */
export const logLine = z.object({
  pod: z.string(),
  time: z.string(),
  line: z.string(),
  /** With `follow`: the log store was late, and newer lines were sent before. */
  late: z.literal(true).optional(),
});

export type LogLineView = z.infer<typeof logLine>;

/**
 * A line of a response with `follow`: the log store does not answer, so that lines of pods that are gone are missing; or all
 * of them were sent.
 */
export const logNotice = z.object({ store: z.enum(['ok', 'unavailable']) }).strict();

export type LogNotice = z.infer<typeof logNotice>;

/** The response without `follow`, sorted by time. */
export const logLines = z.object({
  items: z.array(logLine),
  /**
   * Whether the beginning is missing: the response contains at most the last MiB of each pod, and the log store is searched
   * for 15 seconds.
   */
  truncated: z.boolean().optional(),
  /** Without the log store, only pods that exist have logs. */
  store: logStoreState.optional(),
  /** Set when lines of the range before this time are deleted. */
  keptSince: z.string().optional(),
});

/** The last line of a stream with `all`. A stream without it was cut. */
export const logEnd = z.object({
  end: z.literal(true),
  store: logStoreState,
  keptSince: z.string().optional(),
  /** Whether lines of pods are missing that the log store does not have. */
  truncated: z.boolean().optional(),
});

/** The log of one pod. */
export const podLog = z.object({
  name: z.string(),
  /** Absent until the container has started. */
  log: z.string().optional(),
  /** Whether the beginning is missing: the response contains at most the last MiB. */
  truncated: z.boolean().optional(),
});
