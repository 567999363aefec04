import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Id } from '../domain/ids.ts';
import type { PlatformRole } from '../domain/roles.ts';
import { hasChanged } from './audit-entries.ts';

/** A session with its user. */
export interface SessionRecord {
  sessionId: Id;
  userId: Id;
  email: string;
  role: PlatformRole;
  /** Whether the user signed in with a one-time password, which has to be changed before anything else. */
  passwordChangeRequired: boolean;
  lastUsedAt: Date | null;
  /** Whether the user changed something in the last seconds. */
  hasChanged: boolean;
}

/** A session as its user sees it. */
export interface SessionUse {
  id: Id;
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date;
  /** What signed in, such as `Firefox on Linux`; null when it is not known. */
  client: string | null;
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
  session: {
    id: Id;
    userId: Id;
    provenHash: string;
    tokenDigest: Buffer;
    expiresAt: Date;
    client?: string | undefined;
  },
  now: Date,
): Promise<boolean> {
  await pool.query(`DELETE FROM sessions WHERE expires_at <= $1`, [now]);
  // The lock orders this with a concurrent password reset, which then ends this session or rejects it.
  const { rowCount } = await pool.query(
    `INSERT INTO sessions (id, user_id, token_digest, created_at, expires_at, client)
     SELECT $1, id, $3, $4, $5, $7 FROM users WHERE id = $2 AND disabled_at IS NULL AND password_hash = $6 FOR SHARE`,
    [
      session.id,
      session.userId,
      session.tokenDigest,
      now,
      session.expiresAt,
      session.provenHash,
      session.client ?? null,
    ],
  );
  return rowCount === 1;
}

/** The sessions of tokens, in their order; undefined for one that does not exist or expired before `now`. */
export async function findSessions(
  pool: Pool,
  tokenDigests: readonly Buffer[],
  now: Date,
): Promise<(SessionRecord | undefined)[]> {
  const { rows } = await pool.query<SessionRecord & { position: number }>({
    // Each request needs it, and planning takes longer than running it.
    name: 'find-sessions',
    // Not a join, whose plan may read all sessions.
    text: `SELECT asked.position::integer, found.* FROM unnest($1::bytea[]) WITH ORDINALITY AS asked (digest, position)
       CROSS JOIN LATERAL (
         SELECT sessions.id AS "sessionId", users.id AS "userId", users.email, users.role,
           users.one_time_until IS NOT NULL AS "passwordChangeRequired", sessions.last_used_at AS "lastUsedAt",
           ${hasChanged('users.email')} AS "hasChanged"
         FROM sessions JOIN users ON users.id = sessions.user_id
         WHERE token_digest = asked.digest AND expires_at > $2 AND disabled_at IS NULL LIMIT 1) AS found`,
    values: [tokenDigests, now],
  });
  const sessions: (SessionRecord | undefined)[] = tokenDigests.map(() => undefined);
  for (const { position, ...session } of rows) sessions[position - 1] = session;
  return sessions;
}

/** Deletes a session, if it exists. */
export async function deleteSession(pool: Pool, id: Id): Promise<void> {
  await pool.query(`DELETE FROM sessions WHERE id = $1`, [id]);
}

/** A user's sessions that have not expired, newest first: up to `limit`, older than the session `before`. */
export async function listSessions(
  pool: Pool,
  userId: Id,
  { limit, before, now }: { limit: number; before?: Id | undefined; now: Date },
): Promise<SessionUse[]> {
  const { rows } = await pool.query<SessionUse>(
    `SELECT id, created_at AS "createdAt", last_used_at AS "lastUsedAt", expires_at AS "expiresAt", client FROM sessions
     WHERE user_id = $1 AND expires_at > $2 AND ($3::uuid IS NULL OR (created_at, id) <
       (SELECT created_at, id FROM sessions WHERE id = $3 AND user_id = $1))
     ORDER BY created_at DESC, id DESC LIMIT $4`,
    [userId, now, before ?? null, limit],
  );
  return rows;
}

/** Ends a session of a user. @returns whether the user had it */
export async function endSessionOf(pool: Pool, userId: Id, id: Id): Promise<boolean> {
  const { rowCount } = await pool.query('DELETE FROM sessions WHERE id = $1 AND user_id = $2', [id, userId]);
  return rowCount === 1;
}

/** Ends all sessions of a user except one. @returns how many */
export async function endOtherSessions(pool: Pool, userId: Id, current: Id): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM sessions WHERE user_id = $1 AND id <> $2', [userId, current]);
  return rowCount ?? 0;
}

/** Records that a session was used, unless a use since `before` is stored. */
export async function recordSessionUse(pool: Pool, id: Id, at: Date, before: Date): Promise<void> {
  await pool.query(
    'UPDATE sessions SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $3)',
    [id, at, before],
  );
}
