import { z } from 'zod';
import { apiKeyPattern } from '../../domain/api-key.ts';
import { timestamp } from './common.ts';
import { change } from './gate.ts';
import { displayName, reference } from './plans.ts';
import { usageSummary } from './usage.ts';

const apps = z.array(reference).min(1).max(100);
/** Networks in CIDR notation, or addresses. */
const allowedCidrs = z.array(reference).min(1).max(100);
const expiresAt = z.iso.datetime({ offset: true });

/**
 * `POST /api/v1/projects/{p}/api-keys`: `plan` is the name or id of a plan; `apps` are the names of apps, default all;
 * `allowedCidrs` are the client addresses that may use the key, default all.
 */
export const keyCreate = z.strictObject({
  name: displayName.optional(),
  plan: reference,
  apps: apps.optional(),
  allowedCidrs: allowedCidrs.optional(),
  expiresAt: expiresAt.optional(),
});

/** `PATCH /api/v1/projects/{p}/api-keys/{id}`: absent fields keep their value; null removes the name, the restriction or the expiry. */
export const keyUpdate = z.strictObject({
  enabled: z.boolean().optional(),
  name: displayName.nullable().optional(),
  plan: reference.optional(),
  apps: apps.nullable().optional(),
  allowedCidrs: allowedCidrs.nullable().optional(),
  expiresAt: expiresAt.nullable().optional(),
  /** What the settings have to be before the change; 409 `conflict` if another request has changed one of them. */
  replaces: z
    .strictObject({
      enabled: z.boolean(),
      name: displayName.nullable(),
      plan: reference,
      /** Empty: all apps of the key are deleted. */
      apps: z.array(reference).max(100).nullable(),
      allowedCidrs: allowedCidrs.nullable(),
      expiresAt: expiresAt.nullable(),
    })
    .partial()
    .optional(),
});

/** Settings of a key as the caller of a change saw them. */
export type KeySeen = NonNullable<z.infer<typeof keyUpdate>['replaces']>;

export type KeyUpdate = z.infer<typeof keyUpdate>;

/** One day, so that clients have time to change the key; 0 ends the old key at once. */
const defaultGraceSeconds = 86_400;

/** `POST /api/v1/projects/{p}/api-keys/{id}/rotate`: `expiresAt` is the new key's; default: the old key's. */
export const keyRotate = z.strictObject({
  graceSeconds: z
    .int()
    .min(0)
    .max(90 * 86_400)
    .default(defaultGraceSeconds),
  expiresAt: expiresAt.optional(),
});

/** The public part of a key, which identifies it in logs and usage URLs. */
const handle = z.string().regex(/^[a-z0-9]{8}$/);

export const keyView = z.object({
  id: z.uuid(),
  handle,
  name: z.string().optional(),
  environment: z.string(),
  /** The plan's name. */
  plan: z.string(),
  /** Absent: all apps of the environment. Deleted apps are omitted; an empty list means that no app accepts the key. */
  apps: z.array(z.string()).optional(),
  /** Absent: all addresses. */
  allowedCidrs: z.array(z.string()).optional(),
  enabled: z.boolean(),
  expiresAt: timestamp.optional(),
  /** True from two weeks before the expiry. */
  expiryWarning: z.enum(['soon', 'expired']).optional(),
  /** The handle of its successor, after a rotation. */
  replacedBy: handle.optional(),
  usage: usageSummary,
  createdAt: timestamp,
  /** Who created it. */
  createdBy: z.string(),
});

export type KeyView = z.infer<typeof keyView>;

/** The response to a change of a key. */
export const keyChanged = keyView.extend({ change: change.optional() });

/** 201: the full key is only returned here. */
export const keyCreated = keyView.extend({ key: z.string().regex(apiKeyPattern), change });

/** 201: the new key, and when the old one expires. */
export const keyRotated = keyCreated.extend({ replaces: z.object({ handle, expiresAt: timestamp }) });

export const keyRevoked = z.object({ id: z.uuid(), handle, change });
