import { z } from 'zod';
import { apiKeyPattern } from '../../domain/api-key.ts';
import { timestamp } from './common.ts';
import { change } from './gate.ts';
import { displayName, reference } from './plans.ts';
import { usageSummary } from './usage.ts';

const apps = z.array(reference).min(1).max(100);
/** Networks in CIDR notation, or single addresses. */
const allowedCidrs = z.array(reference).min(1).max(100);
const expiresAt = z.iso.datetime({ offset: true });

/**
 * `POST /api/v1/projects/{p}/api-keys`: `plan` is a plan's name or id; `apps` are app names, absent for all apps;
 * `allowedCidrs` are the client addresses that may use the key, absent for all.
 */
export const keyCreate = z.strictObject({
  name: displayName.optional(),
  plan: reference,
  apps: apps.optional(),
  allowedCidrs: allowedCidrs.optional(),
  expiresAt: expiresAt.optional(),
});

/** `PATCH /api/v1/projects/{p}/api-keys/{id}`: what is absent stays; null removes the name, the limit or the expiry. */
export const keyUpdate = z.strictObject({
  enabled: z.boolean().optional(),
  name: displayName.nullable().optional(),
  plan: reference.optional(),
  apps: apps.nullable().optional(),
  allowedCidrs: allowedCidrs.nullable().optional(),
  expiresAt: expiresAt.nullable().optional(),
});

export type KeyUpdate = z.infer<typeof keyUpdate>;

/** One day, so that whoever holds the key has time to change it; 0 ends the old key at once. */
export const defaultGraceSeconds = 86_400;

/** `POST /api/v1/projects/{p}/api-keys/{id}/rotate`: `expiresAt` of the new key, by default that of the old one. */
export const keyRotate = z.strictObject({
  graceSeconds: z
    .int()
    .min(0)
    .max(90 * 86_400)
    .default(defaultGraceSeconds),
  expiresAt: expiresAt.optional(),
});

/** The public part of a key: the consumer's identifier in logs and usage URLs. */
const handle = z.string().regex(/^[a-z0-9]{8}$/);

export const keyView = z.object({
  id: z.uuid(),
  handle,
  name: z.string().optional(),
  environment: z.string(),
  /** The plan's name. */
  plan: z.string(),
  /** Absent: every app of the environment. Apps that were deleted are left out, so an empty list opens nothing. */
  apps: z.array(z.string()).optional(),
  /** Absent: every address. */
  allowedCidrs: z.array(z.string()).optional(),
  enabled: z.boolean(),
  expiresAt: timestamp.optional(),
  /** In the last two weeks before the expiry, and after it. */
  expiryWarning: z.enum(['soon', 'expired']).optional(),
  /** The handle of the key that took its place when it was rotated. */
  replacedBy: handle.optional(),
  usage: usageSummary,
  createdAt: timestamp,
  /** Who created it. */
  createdBy: z.string(),
});

export type KeyView = z.infer<typeof keyView>;

/** The answer to a change of a key. */
export const keyChanged = keyView.extend({ change: change.optional() });

/** 201: the only time that the full key is shown. */
export const keyCreated = keyView.extend({ key: z.string().regex(apiKeyPattern), change });

export type KeyCreated = z.infer<typeof keyCreated>;

/** 201: the new key, and until when the old one still opens. */
export const keyRotated = keyCreated.extend({ replaces: z.object({ handle, expiresAt: timestamp }) });

export const keyRevoked = z.object({ id: z.uuid(), handle, change });
