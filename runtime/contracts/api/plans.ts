import { z } from 'zod';
import { periods } from '../../domain/period.ts';
import { environmentQuery, idPageQuery, timestamp } from './common.ts';
import { change } from './gate.ts';

/**
 * Text without control characters: lists and headers cannot show them, and PostgreSQL cannot store NUL. Said in words in the
 * OpenAPI document, because not every validator knows `\p`.
 */
const plainText = z
  .string()
  .refine((text) => !/[\p{Cc}\p{Cs}]/u.test(text), 'must not contain control characters')
  .describe('Without control characters (`invalid_request`).');

/** Shown to people in lists, and sent to apps in a header. */
export const displayName = plainText.trim().min(1).max(100);

/** An id, a name or a handle. */
export const reference = plainText.min(1).max(100);

/** Allowed requests of one key in a UTC calendar period, across all replicas; docs/reference/gate.md#quotas. */
const quota = z.strictObject({ limit: z.int().min(1).max(1_000_000_000_000), period: z.enum(periods) });

export type Quota = z.infer<typeof quota>;

/** The minimum, 0.001, is one request in about 17 minutes. */
const requestsPerSecond = z.number().min(0.001).max(1_000_000);
const burst = z.int().min(1).max(1_000_000);

/** `POST /api/v1/projects/{p}/plans`. Rate and burst apply per key, over all replicas of the checker. */
export const planCreate = z.strictObject({ name: displayName, requestsPerSecond, burst, quota: quota.optional() });

const planFields = { name: displayName, requestsPerSecond, burst, quota: quota.nullable() };

/** `PATCH /api/v1/projects/{p}/plans/{id}`: absent fields keep their value; null removes the quota. */
export const planUpdate = z
  .strictObject({
    ...planFields,
    /** What the limits have to be before the change; 409 `conflict` if another request has changed one of them. */
    replaces: z.strictObject(planFields).partial(),
  })
  .partial();

export type PlanUpdate = z.infer<typeof planUpdate>;

export const planView = z.object({
  id: z.uuid(),
  name: z.string(),
  environment: z.string(),
  requestsPerSecond: z.number(),
  burst: z.int(),
  /** Absent: no quota. */
  quota: quota.optional(),
  /** Number of keys on it, valid or not; a plan without keys can be deleted. */
  keys: z.int(),
  createdAt: timestamp,
});

export type PlanView = z.infer<typeof planView>;

/** The response to a change of a plan. */
export const planChanged = planView.extend({ change: change.optional() });

export const planDeleted = z.object({ id: z.uuid(), name: z.string(), change });

/** Query of the lists of plans and keys, newest first; `cursor` is the `nextCursor` of the previous page. */
export const keyPageQuery = environmentQuery.extend(idPageQuery.shape);
