import type { Pool, PoolClient } from 'pg';
import type { ReplacedRole } from '../contracts/api/members.ts';
import { transaction, type Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import type { ProjectRole } from '../domain/roles.ts';
import { expectedRole, otherRole, writeOf } from './replaced-role.ts';

/** A user's role in one project. */
export interface Member {
  /** Null for an address without an account. */
  userId: Id | null;
  email: string;
  role: ProjectRole;
  /** Whether the user may sign in. */
  enabled: boolean;
  createdAt: Date;
}

const columns = `users.id AS "userId", users.email, project_members.role,
  users.disabled_at IS NULL AS enabled, project_members.created_at AS "createdAt"`;
const joined = 'project_members JOIN users ON users.id = project_members.user_id';

/** The role of a user in a project; undefined without one. */
export async function findRole(pool: Pool, projectId: Id, userId: Id): Promise<ProjectRole | undefined> {
  const { rows } = await pool.query<{ role: ProjectRole }>({
    name: 'find-role',
    text: `SELECT role FROM project_members WHERE project_id = $1 AND user_id = $2`,
    values: [projectId, userId],
  });
  return rows[0]?.role;
}

/** All projects in which a user has a role. */
export async function listRoles(pool: Pool, userId: Id): Promise<Map<Id, ProjectRole>> {
  const { rows } = await pool.query<{ projectId: Id; role: ProjectRole }>({
    name: 'list-roles',
    text: `SELECT project_id AS "projectId", role FROM project_members WHERE user_id = $1`,
    values: [userId],
  });
  return new Map(rows.map(({ projectId, role }) => [projectId, role]));
}

/** The projects in which a user is an admin and no other enabled user is. */
export async function listOnlyAdminOf(pool: Pool, userId: Id): Promise<Id[]> {
  const { rows } = await pool.query<{ projectId: Id }>(
    `SELECT own.project_id AS "projectId" FROM project_members AS own
     WHERE own.user_id = $1 AND own.role = 'admin' AND NOT EXISTS (
       SELECT FROM ${joined} WHERE project_members.project_id = own.project_id AND project_members.user_id <> $1
         AND project_members.role = 'admin' AND users.disabled_at IS NULL)`,
    [userId],
  );
  return rows.map(({ projectId }) => projectId);
}

/** The addresses of up to `limit` enabled admins of a project, sorted. */
export async function listAdmins(pool: Pool, projectId: Id, limit: number): Promise<string[]> {
  const { rows } = await pool.query<{ email: string }>(
    `SELECT users.email FROM ${joined}
     WHERE project_id = $1 AND project_members.role = 'admin' AND disabled_at IS NULL ORDER BY email LIMIT $2`,
    [projectId, limit],
  );
  return rows.map(({ email }) => email);
}

/** Up to `limit` members and invited addresses of a project, sorted by address, after `after` if it is set. */
export async function listMembers(
  pool: Pool,
  projectId: Id,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<Member[]> {
  const { rows } = await pool.query<Member>(
    `SELECT * FROM (
       SELECT ${columns} FROM ${joined} WHERE project_id = $1
       UNION ALL
       SELECT NULL, email, role, true, created_at FROM project_invitations
       WHERE project_id = $1 AND NOT EXISTS (SELECT FROM users WHERE users.email = project_invitations.email)
     ) AS members
     WHERE $2::text IS NULL OR email > $2 ORDER BY email LIMIT $3`,
    [projectId, after ?? null, limit],
  );
  return rows;
}

/** The number of members and invited addresses of a project, without this address. */
export async function countOtherMembers(pool: Pool, projectId: Id, email: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT (SELECT count(*) FROM ${joined} WHERE project_id = $1 AND users.email <> $2)::integer
       + (SELECT count(*) FROM project_invitations WHERE project_id = $1 AND email <> $2)::integer AS count`,
    [projectId, email],
  );
  return rows[0]?.count ?? 0;
}

/** Makes a user the admin of a project that is about to be created. */
export async function insertFounder(pool: Pool, projectId: Id, userId: Id): Promise<void> {
  await pool.query(`INSERT INTO project_members (project_id, user_id, role) VALUES ($1, $2, 'admin')`, [
    projectId,
    userId,
  ]);
}

/**
 * Records who creates a project. Concurrent calls of one user cannot exceed the number together.
 * @throws Problem `too_many_projects` when the user has created `max` projects that exist
 */
export async function countFounder(pool: Pool, projectId: Id, userId: Id, max: number): Promise<void> {
  await transaction(pool, async (client) => {
    await client.query('SELECT 1 FROM users WHERE id = $1 FOR UPDATE', [userId]);
    const { rows } = await client.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM project_founders WHERE user_id = $1',
      [userId],
    );
    if ((rows[0]?.count ?? 0) >= max) {
      throw new Problem(
        'too_many_projects',
        `You have created ${max} projects, which is the limit. Delete one, or ask a platform admin to create the project or raise the limit: svc platform config set --projects-per-user.`,
        { details: { max } },
      );
    }
    await client.query('INSERT INTO project_founders (project_id, user_id) VALUES ($1, $2)', [projectId, userId]);
  });
}

/**
 * Gives a user a role.
 * @param replaces the only role that may be replaced; default: any
 * @returns the previous role, if any, and the member; undefined when the user does not exist
 * @throws Problem `last_admin`, and `conflict` when the user's role is not `replaces`
 */
export async function setMember(
  pool: Pool,
  projectId: Id,
  userId: Id,
  role: ProjectRole,
  replaces?: ReplacedRole,
): Promise<{ before: ProjectRole | undefined; member: Member } | undefined> {
  return transaction(pool, async (client) => {
    // Locked before the members, in the same order as the deletion of a user.
    const { rowCount } = await client.query('SELECT 1 FROM users WHERE id = $1 FOR KEY SHARE', [userId]);
    if (rowCount === 0) return undefined;
    const before = await lockMember(client, projectId, userId, role);
    const written = await client.query(memberWrites[writeOf(replaces)], [
      projectId,
      userId,
      role,
      ...expectedRole(replaces),
    ]);
    if (written.rowCount === 0) throw otherRole();
    const member = await findMember(client, projectId, userId);
    return member && { before, member };
  });
}

/** A row that another request inserts is invisible to the lock, so the statement itself checks what it replaces. */
const memberWrites = {
  insert: `INSERT INTO project_members (project_id, user_id, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
  update: `UPDATE project_members SET role = $3 WHERE project_id = $1 AND user_id = $2 AND role = $4`,
  upsert: `INSERT INTO project_members (project_id, user_id, role) VALUES ($1, $2, $3)
    ON CONFLICT (project_id, user_id) DO UPDATE SET role = excluded.role`,
} as const;

/**
 * Removes a user's role.
 * @returns the previous role; undefined without one
 * @throws Problem `last_admin`
 */
export async function removeMember(pool: Pool, projectId: Id, userId: Id): Promise<ProjectRole | undefined> {
  return transaction(pool, async (client) => {
    const before = await lockMember(client, projectId, userId, undefined);
    await client.query(`DELETE FROM project_members WHERE project_id = $1 AND user_id = $2`, [projectId, userId]);
    return before;
  });
}

/** Deletes all roles in a deleted project, its access tokens, and who created it. Idempotent. */
export async function deleteProjectMembers(pool: Pool, projectId: Id): Promise<void> {
  await pool.query(
    `WITH founders AS (DELETE FROM project_founders WHERE project_id = $1),
       tokens AS (DELETE FROM access_tokens WHERE project_id = $1),
       invitations AS (DELETE FROM project_invitations WHERE project_id = $1)
     DELETE FROM project_members WHERE project_id = $1`,
    [projectId],
  );
}

async function findMember(db: Database, projectId: Id, userId: Id): Promise<Member | undefined> {
  const { rows } = await db.query<Member>(`SELECT ${columns} FROM ${joined} WHERE project_id = $1 AND user_id = $2`, [
    projectId,
    userId,
  ]);
  return rows[0];
}

/**
 * Locks the members of a project, so that two concurrent changes cannot remove its last two admins, and checks one of
 * them.
 * @returns the user's current role
 * @throws Problem `last_admin`
 */
async function lockMember(
  client: PoolClient,
  projectId: Id,
  userId: Id,
  role: ProjectRole | undefined,
): Promise<ProjectRole | undefined> {
  const { rows } = await client.query<Pick<Member, 'userId' | 'role' | 'enabled'>>(
    `SELECT users.id AS "userId", project_members.role, disabled_at IS NULL AS enabled FROM ${joined}
     WHERE project_id = $1 ORDER BY user_id FOR UPDATE OF project_members`,
    [projectId],
  );
  const admins = rows.filter((row) => row.role === 'admin' && row.enabled);
  if (role !== 'admin' && admins.length === 1 && admins[0]?.userId === userId) {
    throw new Problem('last_admin', 'This is the project’s last admin; give another member the admin role first.');
  }
  return rows.find((row) => row.userId === userId)?.role;
}
