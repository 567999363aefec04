import type { Pool } from 'pg';
import type { ReplacedRole } from '../contracts/api/members.ts';
import type { Id } from '../domain/ids.ts';
import type { ProjectRole } from '../domain/roles.ts';
import { expectedRole, otherRole, writeOf } from './replaced-role.ts';

/**
 * The role of an address without an account. The account gets it when it is created, so that nobody learns from a change
 * of members whether an address has an account.
 */
export interface Invitation {
  email: string;
  role: ProjectRole;
  createdAt: Date;
}

/**
 * Gives an address a role.
 * @param email normalised
 * @param replaces the only role that may be replaced; default: any
 * @returns the previous role, if any, and the invitation
 * @throws Problem `conflict` when the address's role is not `replaces`
 */
export async function setInvitation(
  pool: Pool,
  projectId: Id,
  email: string,
  role: ProjectRole,
  replaces?: ReplacedRole,
): Promise<{ before: ProjectRole | undefined; invitation: Invitation }> {
  const { rows } = await pool.query<Invitation & { before: ProjectRole | null }>(
    `WITH former AS (SELECT role FROM project_invitations WHERE project_id = $1 AND email = $2)
     ${invitationWrites[writeOf(replaces)]}
     RETURNING email, role, created_at AS "createdAt", (SELECT role FROM former) AS before`,
    [projectId, email, role, ...expectedRole(replaces)],
  );
  const [row] = rows;
  if (!row) throw otherRole();
  const { before, ...invitation } = row;
  return { before: before ?? undefined, invitation };
}

const invitationWrites = {
  insert: `INSERT INTO project_invitations (project_id, email, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
  update: `UPDATE project_invitations SET role = $3 WHERE project_id = $1 AND email = $2 AND role = $4`,
  upsert: `INSERT INTO project_invitations (project_id, email, role) VALUES ($1, $2, $3)
    ON CONFLICT (project_id, email) DO UPDATE SET role = excluded.role`,
} as const;

/** Removes the role of an address. @returns the previous role; undefined without one */
export async function removeInvitation(pool: Pool, projectId: Id, email: string): Promise<ProjectRole | undefined> {
  const { rows } = await pool.query<{ role: ProjectRole }>(
    'DELETE FROM project_invitations WHERE project_id = $1 AND email = $2 RETURNING role',
    [projectId, email],
  );
  return rows[0]?.role;
}
