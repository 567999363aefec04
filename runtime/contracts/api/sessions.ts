import { z } from 'zod';
import { platformRoles } from '../../domain/roles.ts';
import { timestamp } from './common.ts';

/** `POST /api/v1/session` */
export const sessionCreate = z.strictObject({ email: z.string().max(320), password: z.string().min(1).max(1024) });

/** 201: the bearer token is shown once. */
export const sessionCreated = z.object({
  token: z.string(),
  email: z.string(),
  expiresAt: timestamp,
  passwordChangeRequired: z.boolean().optional(),
});

/** `GET /api/v1/session`: who is signed in. */
export const sessionView = z.object({
  email: z.string(),
  role: z.enum(platformRoles),
  /** Signed in with a one-time password: nothing is open but choosing one's own. */
  passwordChangeRequired: z.boolean().optional(),
});

/** The cookie that carries the same token for the console; scripts of a page cannot read it. */
export const sessionCookie = 'svc_session';
