import { z } from 'zod';
import { logDrainFormats, logDrainTestStates } from '../../domain/log-drain.ts';
import { timestamp } from './common.ts';

/** `PUT /api/v1/platform/log-drain`: replaces all settings; headers that are not in the request are removed. */
export const logDrainSettings = z.strictObject({
  /** An http or https URL without a user name; without a path, that of the format is added. */
  url: z.string().max(2000),
  format: z.enum(logDrainFormats),
  /** Headers of each request, such as `Authorization`. They are encrypted, and no response contains their values. */
  headers: z.record(z.string().max(100), z.string().max(4096)).exactOptional(),
  /** Private networks in which the address may be, such as `10.20.0.0/16`. */
  networks: z.array(z.string().max(200)).max(20).exactOptional(),
});

/** `POST …/log-drain/test` */
export const logDrainTest = z.object({
  id: z.uuid(),
  status: z.enum(logDrainTestStates),
  at: timestamp,
  error: z.string().optional(),
});

/** `GET /api/v1/platform/log-drain` */
export const logDrainView = z.object({
  url: z.string(),
  format: z.enum(logDrainFormats),
  /** The names of the headers that are set. */
  headers: z.array(z.string()),
  networks: z.array(z.string()),
  /** `failing`: the last request or the last reading of the log store failed, and is repeated. */
  status: z.enum(['on', 'failing']),
  /** Why the last request failed or was refused. */
  error: z.string().optional(),
  failingSince: timestamp.optional(),
  /** Counts since the drain was created. */
  sentLines: z.int(),
  /** Lines that the receiver refused. They are not sent again. */
  refusedLines: z.int(),
  /** Lines that the log store deleted before they could be sent, at most. */
  deletedLines: z.int(),
  /** Lines that wait. */
  pendingLines: z.int(),
  lastSentAt: timestamp.optional(),
  /** The time of the newest line that was sent. */
  lastLineAt: timestamp.optional(),
  /** The last test. */
  test: logDrainTest.optional(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export type LogDrainView = z.infer<typeof logDrainView>;
