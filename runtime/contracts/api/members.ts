import { z } from 'zod';
import { projectRoles } from '../../domain/roles.ts';
import { timestamp } from './common.ts';

/** `PUT /api/v1/projects/{p}/members/{u}` */
export const memberSet = z.strictObject({ role: z.enum(projectRoles) });

export const memberView = z.object({
  /** For platform admins: the user's id; absent for an address without an account. */
  userId: z.uuid().optional(),
  email: z.string(),
  role: z.enum(projectRoles),
  /** For platform admins: whether the user is disabled. */
  disabled: z.boolean().optional(),
  since: timestamp,
});

export type MemberView = z.infer<typeof memberView>;
