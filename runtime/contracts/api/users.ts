import { z } from 'zod';
import { passwordMax } from '../../domain/password.ts';
import { platformRoles } from '../../domain/roles.ts';
import { timestamp } from './common.ts';

const password = z.string().min(1).max(passwordMax);

/** `POST /api/v1/users`: without a password, a one-time password is generated and returned. */
export const userCreate = z.strictObject({
  email: z.string().max(320),
  role: z.enum(platformRoles).default('member'),
  password: password.optional(),
});

/** `PATCH /api/v1/users/{u}` */
export const userUpdate = z.strictObject({ role: z.enum(platformRoles), disabled: z.boolean() }).partial();

/** `POST /api/v1/users/{u}/password`: without a password, a one-time password is generated and returned. */
export const passwordReset = z.strictObject({ password: password.optional() });

/** `PUT /api/v1/users/me/password` */
export const passwordChange = z.strictObject({ currentPassword: password, newPassword: password });

export const userView = z.object({
  id: z.uuid(),
  email: z.string(),
  role: z.enum(platformRoles),
  status: z.enum(['active', 'invited', 'disabled']),
  /** For an invited user: when the one-time password expires. */
  passwordExpiresAt: timestamp.optional(),
  /** Only of one user, not in lists: the projects that have no other admin. Without the user, platform admins manage them. */
  onlyAdminOf: z.array(z.string()).optional(),
  createdAt: timestamp,
});

/** 201 and 200 of requests that may generate a password: it is only returned here. */
export const userWithPassword = userView.extend({ oneTimePassword: z.string().optional() });

export type UserView = z.infer<typeof userView>;
