import { z } from 'zod';

/** How one queue behaves; see {@link catalogue}. */
export interface QueueDefinition<Payload extends z.ZodType = z.ZodType> {
  /** What a job carries: ids only, since Redis keeps it as plain text. Older shapes must still parse. */
  payload: Payload;
  /** Attempts of one piece of work, after which its processor is told that it was the last. */
  attempts: number;
  /** Wait before attempt n+1, in ms: `backoffMs · 2^(n−1)`, at most `backoffMaxMs`, with jitter. */
  backoffMs: number;
  backoffMaxMs: number;
  /** An attempt that has not answered after this many ms counts as lost, and its row is due again. */
  timeoutMs: number;
  /** Jobs that one worker process runs at a time. */
  concurrency: number;
  /** Jobs that all worker processes together begin in this many ms, at most; default as many as come. */
  limiter?: { max: number; duration: number };
}

/** Every job carries its work row and the record that the row is about. */
export const workPayload = z.object({ workId: z.uuid(), recordId: z.uuid(), attempt: z.int().min(1) });

export type WorkPayload = z.infer<typeof workPayload>;

/**
 * The one list of queues (design.md §4). Producers and processors derive their types from it, so a missing processor
 * does not compile.
 */
export const catalogue = {
  /** The steps of one deployment; the record is `deployments.id`. A step applies and returns: it never waits for pods. */
  rollouts: {
    payload: workPayload,
    attempts: 20,
    backoffMs: 500,
    backoffMaxMs: 60_000,
    timeoutMs: 15_000,
    concurrency: 8,
    // About 20 rollouts a second, of two steps and more each (decision 0030).
    limiter: { max: 4, duration: 100 },
  },
  /**
   * The image of one deployment from its git source; the record is `deployments.id`. A step starts the build, looks how
   * far it is or stops it, and returns: it never waits for the build.
   */
  builds: {
    payload: workPayload,
    attempts: 20,
    backoffMs: 1_000,
    backoffMaxMs: 60_000,
    timeoutMs: 30_000,
    concurrency: 4,
  },
  /**
   * Sending one notification; the record is `notification_deliveries.id`. The attempts end after 13 hours or so. The
   * waits are the processor's, since what the receiver answers counts: a row only fails when the platform itself does.
   */
  notifications: {
    payload: workPayload,
    attempts: 14,
    backoffMs: 10_000,
    backoffMaxMs: 4 * 3_600_000,
    timeoutMs: 30_000,
    concurrency: 16,
  },
  /** Looking for new commits; the record is the app's `workloads.id`. A row is due again for as long as there is a source. */
  polling: {
    payload: workPayload,
    attempts: 5,
    backoffMs: 5_000,
    backoffMaxMs: 5 * 60_000,
    timeoutMs: 30_000,
    concurrency: 4,
  },
  /**
   * The data source of one function: finding events, and marking as done what was delivered; the record is the function's
   * `workloads.id`. A row is due again for as long as there is a source.
   */
  events: {
    payload: workPayload,
    attempts: 5,
    backoffMs: 1_000,
    backoffMaxMs: 5 * 60_000,
    timeoutMs: 60_000,
    concurrency: 16,
  },
  /**
   * One binding of a function to a service; the record is `function_bindings.id`. The waits are the processor's, since what
   * a service refuses counts: a row only fails when the platform itself does.
   */
  bindings: {
    payload: workPayload,
    attempts: 5,
    backoffMs: 1_000,
    backoffMaxMs: 60_000,
    timeoutMs: 60_000,
    concurrency: 4,
  },
  /** Folding of usage and purging of what is old. One row, {@link housekeepingId}, which is due again every hour. */
  housekeeping: {
    payload: workPayload,
    attempts: 5,
    backoffMs: 60_000,
    backoffMaxMs: 15 * 60_000,
    timeoutMs: 60_000,
    concurrency: 1,
  },
} as const satisfies Record<string, QueueDefinition>;

/**
 * A rollout that has not come to its end so long after its acceptance, in ms, fails: twice what Kubernetes gives new pods
 * to get ready (`progressDeadlineSeconds`), and room for queues and outages.
 */
export const rolloutDeadlineMs = 10 * 60_000;

/** A build whose end was not seen so long after its own time-out, in ms, fails: room for outages. */
export const buildGraceMs = 5 * 60_000;

/** The one record of the queue `housekeeping`. */
export const housekeepingId = '00000000-0000-7000-8000-000000000001';

/** The name of a queue, and the `kind` of its rows in the work table. */
export type QueueName = keyof typeof catalogue;

export type Payload<Name extends QueueName> = z.infer<(typeof catalogue)[Name]['payload']>;
