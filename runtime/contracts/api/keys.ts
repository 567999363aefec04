import { z } from 'zod';
import { timestamp } from './common.ts';

/** `POST /api/v1/projects/{p}/plans` */
export const planCreate = z.strictObject({
  name: z.string().min(1).max(100),
  requestsPerSecond: z.number().positive().max(1_000_000),
  burst: z.int().min(1).max(1_000_000),
});

export const planView = z.object({
  id: z.uuid(),
  name: z.string(),
  requestsPerSecond: z.number(),
  burst: z.int(),
  createdAt: timestamp,
});

/** `POST /api/v1/projects/{p}/api-keys`: `plan` is a plan's name or id; `apps` are app names, absent for all apps. */
export const keyCreate = z.strictObject({
  name: z.string().min(1).max(100).optional(),
  plan: z.string(),
  apps: z.array(z.string()).min(1).max(100).optional(),
  expiresAt: z.iso.datetime({ offset: true }).optional(),
});

/** `PATCH /api/v1/projects/{p}/api-keys/{id}` */
export const keyUpdate = z.strictObject({ enabled: z.boolean() });

export const keyView = z.object({
  id: z.uuid(),
  handle: z.string(),
  name: z.string().optional(),
  plan: z.string(),
  apps: z.array(z.string()).optional(),
  enabled: z.boolean(),
  expiresAt: timestamp.optional(),
  createdAt: timestamp,
});

/** 201: the only time that the full key is shown. */
export const keyCreated = keyView.extend({ key: z.string() });
