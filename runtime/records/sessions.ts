import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Id } from '../domain/ids.ts';
import type { PlatformRole } from '../domain/roles.ts';

/** A session with its user. */
export interface SessionRecord {
  sessionId: Id;
  userId: Id;
  email: string;
  role: PlatformRole;
  /** Whether the user signed in with a one-time password, which has to be changed before anything else. */
  passwordChangeRequired: boolean;
}

/** The SHA-256 of a bearer token (32 bytes), which is stored instead of it; 206 bits of randomness need no salt. */
export function sessionTokenDigest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/**
 * Stores a session, and deletes those that expired before `now`.
 * @returns false when the user is disabled or deleted, or the password was changed since it was verified
 */
export async function insertSession(
  pool: Pool,
  session: { id: Id; userId: Id; provenHash: string; tokenDigest: Buffer; expiresAt: Date },
  now: Date,
): Promise<boolean> {
  await pool.query(`DELETE FROM sessions WHERE expires_at <= $1`, [now]);
  // The lock orders this with a concurrent password reset, which then ends this session or rejects it.
  const { rowCount } = await pool.query(
    `INSERT INTO sessions (id, user_id, token_digest, created_at, expires_at)
     SELECT $1, id, $3, $4, $5 FROM users WHERE id = $2 AND disabled_at IS NULL AND password_hash = $6 FOR SHARE`,
    [session.id, session.userId, session.tokenDigest, now, session.expiresAt, session.provenHash],
  );
  return rowCount === 1;
}

/** The session of a token; undefined when it does not exist or expired before `now`. */
export async function findSession(pool: Pool, tokenDigest: Buffer, now: Date): Promise<SessionRecord | undefined> {
  const { rows } = await pool.query<SessionRecord>(
    `SELECT sessions.id AS "sessionId", users.id AS "userId", users.email, users.role,
       users.one_time_until IS NOT NULL AS "passwordChangeRequired"
     FROM sessions JOIN users ON users.id = sessions.user_id
     WHERE token_digest = $1 AND expires_at > $2 AND disabled_at IS NULL`,
    [tokenDigest, now],
  );
  return rows[0];
}

/** Deletes a session, if it exists. */
export async function deleteSession(pool: Pool, id: Id): Promise<void> {
  await pool.query(`DELETE FROM sessions WHERE id = $1`, [id]);
}
