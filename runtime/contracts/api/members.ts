import { z } from 'zod';
import { projectRoles } from '../../domain/roles.ts';
import { timestamp } from './common.ts';

/** `PUT /api/v1/projects/{p}/members/{u}` */
export const memberSet = z.strictObject({
  role: z.enum(projectRoles),
  /** The only role that may be replaced; `none`: the user has none. Another one gets 409 `conflict`. Default: any. */
  replaces: z.enum([...projectRoles, 'none']).optional(),
});

/** The role that a request expects a user to have. */
export type ReplacedRole = z.infer<typeof memberSet>['replaces'];

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
