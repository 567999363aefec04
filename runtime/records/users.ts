import type { Pool, PoolClient } from 'pg';
import { transaction } from '../db/pool.ts';
import { normaliseEmail } from '../domain/email.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import type { PlatformRole } from '../domain/roles.ts';

/** A person who can sign in. */
export interface User {
  id: Id;
  /** In lower case, so that an address has one spelling. */
  email: string;
  /** scrypt in the PHC string format. */
  passwordHash: string;
  role: PlatformRole;
  /** When it was disabled; a disabled user cannot sign in. */
  disabledAt: Date | null;
  /**
   * Set for a one-time password, which an admin created: it is valid until then, and has to be changed before anything
   * else.
   */
  oneTimeUntil: Date | null;
  createdAt: Date;
}

const columns = `id, email, password_hash AS "passwordHash", role, disabled_at AS "disabledAt",
  one_time_until AS "oneTimeUntil", created_at AS "createdAt"`;

/** Finds a user by address. */
export async function findUserByEmail(pool: Pool, email: string): Promise<User | undefined> {
  const { rows } = await pool.query<User>(`SELECT ${columns} FROM users WHERE email = $1`, [normaliseEmail(email)]);
  return rows[0];
}

/** Finds a user by id. */
export async function findUserById(pool: Pool, id: Id): Promise<User | undefined> {
  const { rows } = await pool.query<User>(`SELECT ${columns} FROM users WHERE id = $1`, [id]);
  return rows[0];
}

/** Up to `limit` users, sorted by address, after `after` if it is set. */
export async function listUsers(
  pool: Pool,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<User[]> {
  const { rows } = await pool.query<User>(
    `SELECT ${columns} FROM users WHERE $1::text IS NULL OR email > $1 ORDER BY email LIMIT $2`,
    [after ?? null, limit],
  );
  return rows;
}

/** Whether the installation has an enabled admin. */
export async function hasAdmin(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query(`SELECT 1 FROM users WHERE role = 'admin' LIMIT 1`);
  return rows.length > 0;
}

/**
 * Creates the installation's first admin if there is none. When two replicas start together, only one succeeds, because
 * the address is unique.
 * @returns whether it was created
 */
export async function createFirstAdmin(
  pool: Pool,
  user: { id: Id; email: string; passwordHash: string },
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `INSERT INTO users (id, email, password_hash, role)
     SELECT $1, $2, $3, 'admin' WHERE NOT EXISTS (SELECT 1 FROM users WHERE role = 'admin')
     ON CONFLICT (email) DO NOTHING`,
    [user.id, normaliseEmail(user.email), user.passwordHash],
  );
  return rowCount === 1;
}

/**
 * Creates a user, who gets the roles of the invitations for the address.
 * @returns undefined when the address is taken
 */
export async function insertUser(
  pool: Pool,
  user: Pick<User, 'id' | 'email' | 'passwordHash' | 'role' | 'oneTimeUntil'>,
): Promise<User | undefined> {
  const { rows } = await pool.query<User>(
    `WITH created AS (
       INSERT INTO users (id, email, password_hash, role, one_time_until) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (email) DO NOTHING RETURNING *
     ), invited AS (
       DELETE FROM project_invitations WHERE email IN (SELECT email FROM created) RETURNING project_id, role
     ), joined AS (
       INSERT INTO project_members (project_id, user_id, role)
       SELECT project_id, created.id, invited.role FROM invited CROSS JOIN created
     )
     SELECT ${columns} FROM created`,
    [user.id, normaliseEmail(user.email), user.passwordHash, user.role, user.oneTimeUntil],
  );
  return rows[0];
}

/**
 * Changes a user. A role applies from the next request on; disabling a user deletes the sessions.
 * @returns the user before and after; undefined when it does not exist
 * @throws Problem `last_admin`
 */
export async function updateUser(
  pool: Pool,
  id: Id,
  changes: { role?: PlatformRole | undefined; disabled?: boolean | undefined },
  now: Date,
): Promise<{ before: User; after: User } | undefined> {
  return transaction(pool, async (client) => {
    const keepsAdmin = changes.role !== 'member' && changes.disabled !== true;
    const before = await lockUser(client, id, keepsAdmin);
    if (!before) return undefined;
    const disabled = changes.disabled ?? before.disabledAt !== null;
    const { rows } = await client.query<User>(
      `UPDATE users SET role = $2, disabled_at = CASE WHEN $3 THEN coalesce(disabled_at, $4) END
       WHERE id = $1 RETURNING ${columns}`,
      [id, changes.role ?? before.role, disabled, now],
    );
    if (disabled) await client.query('DELETE FROM sessions WHERE user_id = $1', [id]);
    return rows[0] && { before, after: rows[0] };
  });
}

/**
 * Replaces a password and deletes the user's sessions, except `keepSession`.
 * @param options `provenHash`: only if the password is still the one that was verified
 * @returns whether the password was replaced
 */
export async function setPassword(
  pool: Pool,
  id: Id,
  passwordHash: string,
  options: { oneTimeUntil?: Date | null; provenHash?: string; keepSession?: Id },
): Promise<boolean> {
  return transaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `UPDATE users SET password_hash = $2, one_time_until = $3
       WHERE id = $1 AND ($4::text IS NULL OR password_hash = $4)`,
      [id, passwordHash, options.oneTimeUntil ?? null, options.provenHash ?? null],
    );
    if (rowCount === 0) return false;
    await client.query('DELETE FROM sessions WHERE user_id = $1 AND ($2::uuid IS NULL OR id <> $2)', [
      id,
      options.keepSession ?? null,
    ]);
    return true;
  });
}

/**
 * Deletes a user with sessions and roles.
 * @returns whether the user existed
 * @throws Problem `last_admin`
 */
export async function deleteUser(pool: Pool, id: Id): Promise<boolean> {
  return transaction(pool, async (client) => {
    await lockUser(client, id, false);
    const { rowCount } = await client.query('DELETE FROM users WHERE id = $1', [id]);
    return rowCount === 1;
  });
}

/** Locks the platform admins and one user, so that two concurrent changes cannot remove the last two admins. */
async function lockUser(client: PoolClient, id: Id, keepsAdmin: boolean): Promise<User | undefined> {
  const { rows } = await client.query<User>(
    `SELECT ${columns} FROM users WHERE id = $1 OR (role = 'admin' AND disabled_at IS NULL) ORDER BY id FOR UPDATE`,
    [id],
  );
  const admins = rows.filter((user) => user.role === 'admin' && user.disabledAt === null);
  if (!keepsAdmin && admins.length === 1 && admins[0]?.id === id) {
    throw new Problem('last_admin', 'This is the platform’s last admin; give another user the admin role first.');
  }
  return rows.find((user) => user.id === id);
}
