import type { Pool } from 'pg';
import type { Id } from '../domain/ids.ts';

/** A person who may sign in. */
export interface User {
  id: Id;
  /** In lower case: one person, one spelling. */
  email: string;
  /** scrypt in the PHC string format. */
  passwordHash: string;
  role: 'admin' | 'member';
}

/** The one spelling of an address under which a user is stored and looked up. */
export function normaliseEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** The user with this address, or undefined. */
export async function findUserByEmail(pool: Pool, email: string): Promise<User | undefined> {
  const { rows } = await pool.query<User>(
    `SELECT id, email, password_hash AS "passwordHash", role FROM users WHERE email = $1`,
    [normaliseEmail(email)],
  );
  return rows[0];
}

/** Whether anybody may administer the installation. */
export async function hasAdmin(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query(`SELECT 1 FROM users WHERE role = 'admin' LIMIT 1`);
  return rows.length > 0;
}

/**
 * Creates the installation's first admin unless there is one, and tells whether it did. Two replicas that start together
 * create one: the address is unique.
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
