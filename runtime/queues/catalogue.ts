import { z } from 'zod';

/** The settings of one queue; see {@link catalogue}. */
export interface QueueDefinition<Payload extends z.ZodType = z.ZodType> {
  /**
   * The content of a job: only ids, because Redis stores it in plain text. Payloads of older versions must still parse.
   */
  payload: Payload;
  /** Maximum attempts of one work row; its processor knows which one is the last. */
  attempts: number;
  /** Delay before attempt n+1, in ms: `backoffMs · 2^(n−1)`, at most `backoffMaxMs`, with jitter. */
  backoffMs: number;
  backoffMaxMs: number;
  /** Time-out of an attempt, in ms. After it, the row is due again. */
  timeoutMs: number;
  /** Maximum concurrent jobs in one worker process. */
  concurrency: number;
  /**
   * How many of them talk to servers of tenants at once, where projects have shares (runtime/bus/owner-shares.ts). The
   * others wait for a place, or are told to retry.
   */
  places?: number;
  /** Maximum jobs that all worker processes together start in `duration` ms; default unlimited. */
  limiter?: { max: number; duration: number };
}

/** The work row and the record of a job. */
const workPayload = z.object({ workId: z.uuid(), recordId: z.uuid(), attempt: z.int().min(1) });

export type WorkPayload = z.infer<typeof workPayload>;

/** All queues. Producers and processors derive their types from it, so that a missing processor does not compile. */
export const catalogue = {
  /** The steps of one deployment; the record is `deployments.id`. A step never waits for pods. */
  rollouts: {
    payload: workPayload,
    attempts: 20,
    backoffMs: 500,
    backoffMaxMs: 60_000,
    timeoutMs: 15_000,
    concurrency: 8,
    // About 20 rollouts a second, with at least two steps each (decision 0030).
    limiter: { max: 4, duration: 100 },
  },
  /**
   * Builds the image of one deployment from its git source; the record is `deployments.id`. A step starts the build,
   * checks its progress or stops it; it never waits for the build.
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
   * Sends one notification; the record is `notification_deliveries.id`. The attempts end after about 13 hours. The
   * processor sets the delays, which depend on the receiver's response; only errors of the platform itself count as
   * failures of the row.
   */
  notifications: {
    payload: workPayload,
    attempts: 14,
    backoffMs: 10_000,
    backoffMaxMs: 4 * 3_600_000,
    timeoutMs: 30_000,
    concurrency: 48,
    places: 16,
  },
  /**
   * Checks for new commits; the record is the app's `workloads.id`. A row is scheduled again while the app has a git
   * source.
   */
  polling: {
    payload: workPayload,
    attempts: 5,
    backoffMs: 5_000,
    backoffMaxMs: 5 * 60_000,
    timeoutMs: 30_000,
    concurrency: 24,
    places: 4,
  },
  /**
   * Reads the data source of one function and marks delivered events as done; the record is the function's
   * `workloads.id`. A row is scheduled again while the function has a data source.
   */
  events: {
    payload: workPayload,
    attempts: 5,
    backoffMs: 1_000,
    backoffMaxMs: 5 * 60_000,
    timeoutMs: 60_000,
    concurrency: 48,
    places: 16,
  },
  /**
   * Provisions one binding of an app or function to a service; the record is `bindings.id`. The processor sets the
   * delays, which depend on the service's errors; only errors of the platform itself count as failures of the row.
   */
  bindings: {
    payload: workPayload,
    attempts: 5,
    backoffMs: 1_000,
    backoffMaxMs: 60_000,
    timeoutMs: 60_000,
    concurrency: 24,
    places: 4,
  },
  /**
   * Deletes one image that a build made; the record is `images.id`. The row {@link imageCleanupId} searches for images that
   * nothing needs, and is due again every hour. Few at once, since a registry may be slow.
   */
  images: {
    payload: workPayload,
    attempts: 4,
    backoffMs: 5_000,
    backoffMaxMs: 60_000,
    timeoutMs: 45_000,
    concurrency: 2,
    limiter: { max: 20, duration: 1_000 },
  },
  /** Reads the alerts that fire; the only row, {@link alertWatchId}, is due again every 30 s. */
  alerts: {
    payload: workPayload,
    attempts: 5,
    backoffMs: 5_000,
    backoffMaxMs: 60_000,
    timeoutMs: 30_000,
    concurrency: 1,
  },
  /**
   * Sends lines of the log store to the log drain; the only record is {@link logDrainId}. A step sends for a few seconds
   * and is due again at once, or later when the receiver failed. Without a drain it is due every hour.
   */
  'log-drains': {
    payload: workPayload,
    attempts: 5,
    backoffMs: 1_000,
    backoffMaxMs: 60_000,
    timeoutMs: 90_000,
    concurrency: 1,
  },
  /** Folds usage and deletes old rows. The only row, {@link housekeepingId}, is due again every hour. */
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
 * Time-out of a rollout since its acceptance, in ms: twice the time that Kubernetes gives new pods to become ready
 * (`progressDeadlineSeconds`), plus time for queues and outages.
 */
export const rolloutDeadlineMs = 10 * 60_000;

/** How long after its own time-out a build without a result fails, in ms; leaves time for outages. */
export const buildGraceMs = 5 * 60_000;

/** The only record of the queue `housekeeping`. */
export const housekeepingId = '00000000-0000-7000-8000-000000000001';

/** The record of the queue `images` that searches for images to delete. */
export const imageCleanupId = '00000000-0000-7000-8000-000000000002';

/** The only record of the queue `alerts`. */
export const alertWatchId = '00000000-0000-7000-8000-000000000003';

/** The only record of the queue `log-drains`. */
export const logDrainId = '00000000-0000-7000-8000-000000000004';

/** The name of a queue, and the `kind` of its rows in the work table. */
export type QueueName = keyof typeof catalogue;

/** The work that is never done: each attempt ends with the time of the next one. */
export const regularWork: readonly { kind: QueueName; recordId: string }[] = [
  { kind: 'housekeeping', recordId: housekeepingId },
  { kind: 'images', recordId: imageCleanupId },
  { kind: 'alerts', recordId: alertWatchId },
];
