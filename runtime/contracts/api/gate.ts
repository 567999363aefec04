import { z } from 'zod';
import { timestamp } from './common.ts';

/**
 * In the response to every change of plans and keys: its version in the feed. Follow it to the replicas with
 * `GET /api/v1/gate/changes/{version}`. Absent if nothing changed.
 */
export const change = z.object({ version: z.int() });

export type Change = z.infer<typeof change>;

/** Maximum of `wait`, in seconds: below the time-outs of proxies. */
const changeWaitMax = 30;

/** Query of `GET /api/v1/gate/changes/{version}`. */
export const gateChangeQuery = z.object({
  wait: z.coerce
    .number()
    .min(0)
    .max(changeWaitMax)
    .default(0)
    .describe('Seconds to wait until all live replicas have applied the change.'),
});

/**
 * `GET /api/v1/gate/changes/{version}`: which replicas have applied a change. Replicas that have stopped, or that have been
 * silent for so long that they deny every request, do not count.
 */
export const gateChange = z.object({
  version: z.int(),
  /** When the change was made. */
  at: timestamp,
  /** The number of replicas that may serve. */
  total: z.int(),
  /** The number of those that have applied the change. */
  applied: z.int(),
  replicas: z.array(
    z.object({
      /** The pod's name. */
      name: z.string(),
      applied: z.boolean(),
      /** False: no report for 15 s. It has stopped, or denies every request from 90 s after its last contact. */
      live: z.boolean(),
      seenAt: timestamp,
      /** When it was applied at the latest; absent if too many changes have followed. */
      appliedAt: timestamp.optional(),
      /** From `at` to `appliedAt`, in ms. */
      afterMs: z.int().optional(),
    }),
  ),
});

export type GateChange = z.infer<typeof gateChange>;

/** `GET /api/v1/gate/status` */
export const gateStatus = z.object({
  /** The newest version of the feed. */
  version: z.int(),
  replicas: z.array(
    z.object({
      name: z.string(),
      /** `loading` denies every request with 503; `silent` does so from 90 s after its last contact. */
      state: z.enum(['loading', 'current', 'behind', 'silent']),
      /** The version that it has applied; absent during the first load. */
      applied: z.int().optional(),
      /** The number of changes that it has not applied yet. */
      behind: z.int().optional(),
      /** False while it limits rates on its own, because it cannot reach the others; absent before its first report. */
      sharesRates: z.boolean().optional(),
      startedAt: timestamp,
      seenAt: timestamp,
      /** Seconds since its last report; replicas report every 5 s and after every change. */
      silentSeconds: z.number(),
    }),
  ),
});

export type GateStatus = z.infer<typeof gateStatus>;
