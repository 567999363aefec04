import { z } from 'zod';
import { timestamp } from './common.ts';

/**
 * In the answer to every change of plans and keys: its version in the gate's change feed, which
 * `GET /api/v1/gate/changes/{version}` follows to the replicas. Absent when nothing changed.
 */
export const change = z.object({ version: z.int() });

export type Change = z.infer<typeof change>;

/** The most that `wait` may ask for, in seconds: below the time-outs of what lies between. */
export const changeWaitMax = 30;

/** Query of `GET /api/v1/gate/changes/{version}`: for how many seconds to hold the answer back at most. */
export const gateChangeQuery = z.object({ wait: z.coerce.number().min(0).max(changeWaitMax).default(0) });

/**
 * `GET /api/v1/gate/changes/{version}`: how far a change has come. Replicas that ended in good order, or have been silent
 * for so long that they have closed by themselves, do not count.
 */
export const gateChange = z.object({
  version: z.int(),
  /** When the change was made. */
  at: timestamp,
  /** Replicas that may serve. */
  total: z.int(),
  /** Those of them that have applied the change. */
  applied: z.int(),
  replicas: z.array(
    z.object({
      /** The pod's name. */
      name: z.string(),
      applied: z.boolean(),
      /** False: not heard of for 15 s. It has ended, or denies everything 90 s after its last contact at the latest. */
      live: z.boolean(),
      seenAt: timestamp,
      /** By when it was applied; absent when so many changes followed that it cannot be told. */
      appliedAt: timestamp.optional(),
      /** From `at` to `appliedAt`, in ms. */
      afterMs: z.int().optional(),
    }),
  ),
});

export type GateChange = z.infer<typeof gateChange>;

/** `GET /api/v1/gate/status` */
export const gateStatus = z.object({
  /** The newest version of the change feed. */
  version: z.int(),
  replicas: z.array(
    z.object({
      name: z.string(),
      /** `loading` denies everything with 503, and so does `silent`, 90 s after its last contact. */
      state: z.enum(['loading', 'current', 'behind', 'silent']),
      /** The version that it has applied; absent while it loads. */
      applied: z.int().optional(),
      /** Changes that it has not applied yet. */
      behind: z.int().optional(),
      startedAt: timestamp,
      seenAt: timestamp,
      /** Seconds since it was last heard of; replicas report every 5 s, and at every change. */
      silentSeconds: z.number(),
    }),
  ),
});

export type GateStatus = z.infer<typeof gateStatus>;
