import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Id } from '../domain/ids.ts';

/** A session with the person whose it is. */
export interface SessionRecord {
  sessionId: Id;
  userId: Id;
  email: string;
  role: 'admin' | 'member';
}

/** What is stored of a bearer token: its SHA-256 (32 bytes); 206 bits of randomness need no salt. */
export function sessionTokenDigest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** Stores a session, and forgets those that ended before `now`. */
export async function insertSession(
  pool: Pool,
  session: { id: Id; userId: Id; tokenDigest: Buffer; expiresAt: Date },
  now: Date,
): Promise<void> {
  await pool.query(`DELETE FROM sessions WHERE expires_at <= $1`, [now]);
  await pool.query(
    `INSERT INTO sessions (id, user_id, token_digest, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`,
    [session.id, session.userId, session.tokenDigest, now, session.expiresAt],
  );
}

/** The session of a token, or undefined when there is none or it ended before `now`. */
export async function findSession(pool: Pool, tokenDigest: Buffer, now: Date): Promise<SessionRecord | undefined> {
  const { rows } = await pool.query<SessionRecord>(
    `SELECT sessions.id AS "sessionId", users.id AS "userId", users.email, users.role
     FROM sessions JOIN users ON users.id = sessions.user_id
     WHERE token_digest = $1 AND expires_at > $2`,
    [tokenDigest, now],
  );
  return rows[0];
}

/** Ends a session; one that has ended already is fine. */
export async function deleteSession(pool: Pool, id: Id): Promise<void> {
  await pool.query(`DELETE FROM sessions WHERE id = $1`, [id]);
}
