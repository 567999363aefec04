import { z } from 'zod';
import { idPageQuery, timestamp } from './common.ts';

const time = z.iso.datetime({ offset: true });

/** `GET /api/v1/projects/{p}/audit`; all filters are optional. */
export const auditQuery = idPageQuery.extend({
  action: z
    .string()
    .regex(/^[a-z.-]{1,60}$/)
    .optional()
    .describe('Only actions that begin with this text, such as `app.` or `secret.reveal`.'),
  actor: z
    .string()
    .min(1)
    .max(320)
    .optional()
    .describe('Only what this user did, by email address, also with access tokens; `svc` for the platform itself.'),
  environment: z.string().min(1).max(100).optional().describe('Only entries about this environment.'),
  object: z.string().min(1).max(400).optional().describe('Only entries about the object with this name.'),
  since: time.optional().describe('Only entries from this time on (RFC 3339).'),
  until: time.optional().describe('Only entries before this time (RFC 3339).'),
});

/** `GET /api/v1/platform/audit` */
export const platformAuditQuery = auditQuery.extend({
  project: z.string().min(1).max(100).optional().describe('Only entries about projects with this name.'),
});

/** An entry of the audit log. */
export const auditEntryView = z.object({
  id: z.uuid(),
  at: timestamp,
  /** Such as `app.update`; see docs/reference/logs.md#audit. */
  action: z.string(),
  /** The email address of the user, also of the one for whom an access token acts; `svc` for the platform itself. */
  actor: z.string(),
  /** The access token with which it was done. */
  token: z.object({ id: z.uuid(), name: z.string() }).optional(),
  project: z.string().optional(),
  environment: z.string().optional(),
  /** What it was done to. */
  object: z.object({ kind: z.string(), name: z.string() }).optional(),
  /** The request, by which the log is searched. */
  requestId: z.string().optional(),
  /** Fields of the action, such as the names of the changed settings. */
  details: z.record(z.string(), z.unknown()),
});

export type AuditEntryView = z.infer<typeof auditEntryView>;
