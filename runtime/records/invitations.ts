import type { Pool } from 'pg';
import type { Id } from '../domain/ids.ts';
import type { ProjectRole } from '../domain/roles.ts';

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
 * @returns the previous role, if any, and the invitation
 */
export async function setInvitation(
  pool: Pool,
  projectId: Id,
  email: string,
  role: ProjectRole,
): Promise<{ before: ProjectRole | undefined; invitation: Invitation }> {
  const { rows } = await pool.query<Invitation & { before: ProjectRole | null }>(
    `WITH former AS (SELECT role FROM project_invitations WHERE project_id = $1 AND email = $2)
     INSERT INTO project_invitations (project_id, email, role) VALUES ($1, $2, $3)
     ON CONFLICT (project_id, email) DO UPDATE SET role = excluded.role
     RETURNING email, role, created_at AS "createdAt", (SELECT role FROM former) AS before`,
    [projectId, email, role],
  );
  const [row] = rows;
  if (!row) throw new Error('the upsert of an invitation returned no row');
  const { before, ...invitation } = row;
  return { before: before ?? undefined, invitation };
}

/** Removes the role of an address. @returns the previous role; undefined without one */
export async function removeInvitation(pool: Pool, projectId: Id, email: string): Promise<ProjectRole | undefined> {
  const { rows } = await pool.query<{ role: ProjectRole }>(
    'DELETE FROM project_invitations WHERE project_id = $1 AND email = $2 RETURNING role',
    [projectId, email],
  );
  return rows[0]?.role;
}
