import { z } from 'zod';
import { timestamp } from './common.ts';

/** Maximum alerts in a list. */
export const alertsMax = 500;
/** Maximum duration of a silence, in seconds: 30 days. */
export const silenceSecondsMax = 30 * 86_400;

const labels = z.record(z.string().max(100), z.string().max(200));

/** An alert that fires. */
export const alertView = z.object({
  /** The identity of the alert: a digest of its labels. */
  id: z.string(),
  name: z.string(),
  severity: z.string(),
  /** `platform`, or `workload` for an alert that users of a project can cause. */
  scope: z.enum(['platform', 'workload']),
  /** `silenced` alerts are not sent to notification targets. */
  state: z.enum(['firing', 'silenced']),
  summary: z.string(),
  description: z.string().optional(),
  /** What identifies it besides its name, such as `controller`. */
  labels: z.record(z.string(), z.string()),
  /** Further texts, such as the quoted `line`. */
  details: z.record(z.string(), z.string()),
  startsAt: timestamp,
});

export type AlertView = z.infer<typeof alertView>;

/** `GET /api/v1/platform/alerts`: those of the platform first, the critical ones before others. */
export const alertList = z.object({
  items: z.array(alertView),
  /** Whether more alerts fire than are listed. */
  truncated: z.boolean(),
});

/** `POST /api/v1/platform/alerts/silences` */
export const silenceCreate = z.strictObject({
  /** The name of the alert. */
  alert: z.string().regex(/^[A-Za-z]\w{0,99}$/, 'must be the name of an alert, such as SvcQueueOld'),
  /** Silences only alerts with these labels. */
  labels: labels.refine((record) => Object.keys(record).length <= 10, 'takes up to 10 labels').exactOptional(),
  durationSeconds: z.int().min(60).max(silenceSecondsMax),
  comment: z.string().min(1).max(500),
});

/** A silence that has not ended. */
export const silenceView = z.object({
  id: z.string(),
  alert: z.string(),
  labels: z.record(z.string(), z.string()),
  createdBy: z.string(),
  comment: z.string(),
  endsAt: timestamp,
});

export type SilenceView = z.infer<typeof silenceView>;

/** `GET /api/v1/platform/alerts/silences` */
export const silenceList = z.object({ items: z.array(silenceView) });
