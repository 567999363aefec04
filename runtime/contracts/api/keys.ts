import { z } from 'zod';
import { environmentQuery, pageQuery, timestamp } from './common.ts';

/** Text without control characters: lists and headers have no use for them, and PostgreSQL cannot keep a NUL. */
const plainText = z.string().regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must not contain control characters');

/** What people read in lists, and apps in a header. */
const displayName = plainText.trim().min(1).max(100);

/** The id, the name or the handle of something that may exist. */
export const reference = plainText.min(1).max(100);

/** `POST /api/v1/projects/{p}/plans`. The limits hold per replica of the checker (spec.md §8). */
export const planCreate = z.strictObject({
  name: displayName,
  /** 0.001 is one request in about 17 minutes. */
  requestsPerSecond: z.number().min(0.001).max(1_000_000),
  burst: z.int().min(1).max(1_000_000),
});

export const planView = z.object({
  id: z.uuid(),
  name: z.string(),
  environment: z.string(),
  requestsPerSecond: z.number(),
  burst: z.int(),
  createdAt: timestamp,
});

export type PlanView = z.infer<typeof planView>;

/** `POST /api/v1/projects/{p}/api-keys`: `plan` is a plan's name or id; `apps` are app names, absent for all apps. */
export const keyCreate = z.strictObject({
  name: displayName.optional(),
  plan: reference,
  apps: z.array(reference).min(1).max(100).optional(),
  expiresAt: z.iso.datetime({ offset: true }).optional(),
});

/** `PATCH /api/v1/projects/{p}/api-keys/{id}` */
export const keyUpdate = z.strictObject({ enabled: z.boolean() });

export const keyView = z.object({
  id: z.uuid(),
  /** The key's public part: the consumer's identifier in logs and usage URLs. */
  handle: z.string(),
  name: z.string().optional(),
  environment: z.string(),
  /** The plan's name. */
  plan: z.string(),
  /** Absent: every app of the environment. Apps that were deleted are left out, so an empty list opens nothing. */
  apps: z.array(z.string()).optional(),
  enabled: z.boolean(),
  expiresAt: timestamp.optional(),
  createdAt: timestamp,
  /** Who created it. */
  createdBy: z.string(),
});

export type KeyView = z.infer<typeof keyView>;

/** 201: the only time that the full key is shown. */
export const keyCreated = keyView.extend({ key: z.string() });

export type KeyCreated = z.infer<typeof keyCreated>;

/** Query of the lists of plans and keys, newest first; `cursor` is the `nextCursor` of the page before. */
export const keyPageQuery = environmentQuery.extend({ ...pageQuery.shape, cursor: z.uuid().optional() });
