import type { Pool } from 'pg';
import { z } from 'zod';
import { transaction } from '../db/pool.ts';
import { accessTokenDigest, generateAccessToken, hasDigest, parseAccessToken } from '../domain/access-token.ts';
import type { TokenScope } from '../domain/token-scopes.ts';
import { newId, type Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { hasChanged } from './audit-entries.ts';
import type { PlatformRole, ProjectRole } from '../domain/roles.ts';

/** An access token, without its secret (docs/reference/tokens.md). */
export interface AccessToken {
  id: Id;
  handle: string;
  name: string;
  projectId: Id;
  project: string;
  /** The only environment that the token opens; null for all of the project. */
  environmentId: Id | null;
  environment: string | null;
  scopes: TokenScope[];
  createdAt: Date;
  expiresAt: Date;
  lastUsedAt: Date | null;
  /** The user who created it, and for whom it acts. */
  userId: Id;
  email: string;
  /** The user's role on the platform. */
  platformRole: PlatformRole;
  /** The user's current role in the project; null without one. */
  projectRole: ProjectRole | null;
  /** Whether the user may sign in and has no one-time password. */
  userEnabled: boolean;
}

const columns = `access_tokens.id, handle, name, access_tokens.project_id AS "projectId", project,
  environment_id AS "environmentId", environment, scopes, access_tokens.created_at AS "createdAt",
  expires_at AS "expiresAt", last_used_at AS "lastUsedAt", users.id AS "userId", users.email,
  users.role AS "platformRole", CASE WHEN users.role = 'admin' THEN 'admin' ELSE project_members.role END AS "projectRole",
  users.disabled_at IS NULL AND users.one_time_until IS NULL AS "userEnabled"`;
const source = `access_tokens JOIN users ON users.id = access_tokens.user_id
  LEFT JOIN project_members ON project_members.project_id = access_tokens.project_id
    AND project_members.user_id = access_tokens.user_id`;

/** The token of a request. */
export interface ValidToken extends AccessToken {
  /** Whether its user changed something in the last seconds. */
  hasChanged: boolean;
}

/** Stands in for the digest of a token that does not exist, so that it is compared like any other. */
const noDigest = Buffer.alloc(32);

/**
 * The valid token with this text. Undefined for every other text, and while its user may not sign in.
 * @param now the time at which it must not have expired
 */
export async function findValidToken(pool: Pool, text: string, now: Date): Promise<ValidToken | undefined> {
  const parsed = parseAccessToken(text);
  if (!parsed) return undefined;
  const { rows } = await pool.query<ValidToken & { digest: Buffer }>({
    name: 'find-valid-token',
    text: `SELECT ${columns}, digest, ${hasChanged('users.email')} AS "hasChanged" FROM ${source} WHERE handle = $1`,
    values: [parsed.handle],
  });
  const { digest = noDigest, ...token } = rows[0] ?? {};
  if (!hasDigest(text, digest)) return undefined;
  const valid = token as ValidToken;
  return valid.userEnabled && valid.expiresAt > now ? valid : undefined;
}

/** The fields of a new token. */
export type NewToken = Pick<
  AccessToken,
  'name' | 'projectId' | 'project' | 'environmentId' | 'environment' | 'scopes' | 'expiresAt' | 'userId'
>;

/** Maximum numbers of tokens that have not expired. */
const projectMax = 100;
const userMax = 20;

/**
 * Creates a token. Only its digest is stored: the returned text is the only copy.
 * @throws Problem `already_exists` for a name that the project has, `invalid_value` beyond the maximum numbers
 */
export async function insertToken(
  pool: Pool,
  record: NewToken,
  now: Date,
): Promise<{ token: string; record: AccessToken }> {
  const { token, handle } = generateAccessToken();
  const { name, projectId, project, environmentId, environment, scopes, expiresAt, userId } = record;
  const created = await transaction(pool, async (client) => {
    // Creations in a project follow each other, so that together they cannot exceed the maximum.
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('access_tokens ' || $1, 0))`, [projectId]);
    const { rows } = await client.query<{ inProject: number; ofUser: number; taken: boolean }>(
      `SELECT count(*) FILTER (WHERE expires_at > $3)::integer AS "inProject",
         count(*) FILTER (WHERE expires_at > $3 AND user_id = $2)::integer AS "ofUser",
         coalesce(bool_or(name = $4), false) AS taken
       FROM access_tokens WHERE project_id = $1`,
      [projectId, userId, now, name],
    );
    const { inProject = 0, ofUser = 0, taken = false } = rows[0] ?? {};
    if (taken) {
      const message = `The project "${project}" has a token "${name}" already. Choose another name, or revoke it: svc token revoke ${name}.`;
      throw new Problem('already_exists', message, { details: { name } });
    }
    if (inProject >= projectMax || ofUser >= userMax) {
      const [whose, max] = inProject >= projectMax ? ['The project has', projectMax] : ['You have', userMax];
      const message = `${whose} the maximum of ${max} access tokens in the project. Revoke one that is not used: svc token list.`;
      throw new Problem('invalid_value', message, { details: { max } });
    }
    const id = newId();
    await client.query(
      `INSERT INTO access_tokens (id, project_id, project, environment_id, environment, name, handle, digest, scopes,
         user_id, created_at, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      [
        id,
        projectId,
        project,
        environmentId,
        environment,
        name,
        handle,
        accessTokenDigest(token),
        scopes,
        userId,
        now,
        expiresAt,
      ],
    );
    const inserted = await client.query<AccessToken>(`SELECT ${columns} FROM ${source} WHERE access_tokens.id = $1`, [
      id,
    ]);
    return inserted.rows[0];
  });
  if (!created) throw new Error('the token that was inserted is missing');
  return { token, record: created };
}

/** Up to `limit` tokens of a project, newest first, older than the token `before`. */
export async function listTokens(
  pool: Pool,
  projectId: Id,
  { limit, before }: { limit: number; before?: Id | undefined },
): Promise<AccessToken[]> {
  const { rows } = await pool.query<AccessToken>(
    `SELECT ${columns} FROM ${source} WHERE access_tokens.project_id = $1
       AND ($2::uuid IS NULL OR access_tokens.id < $2) ORDER BY access_tokens.id DESC LIMIT $3`,
    [projectId, before ?? null, limit],
  );
  return rows;
}

/** A token of a project, by name or id. */
export async function findToken(pool: Pool, projectId: Id, nameOrId: string): Promise<AccessToken | undefined> {
  const column = z.uuid().safeParse(nameOrId).success ? 'access_tokens.id' : 'name';
  const { rows } = await pool.query<AccessToken>(
    `SELECT ${columns} FROM ${source} WHERE access_tokens.project_id = $1 AND ${column} = $2`,
    [projectId, nameOrId],
  );
  return rows[0];
}

/** Deletes a token: it is invalid from the next request. @returns whether it existed */
export async function deleteToken(pool: Pool, id: Id): Promise<boolean> {
  const { rowCount } = await pool.query('DELETE FROM access_tokens WHERE id = $1', [id]);
  return rowCount === 1;
}

/** Records a use of a token, unless another was recorded after `before`. */
export async function recordTokenUse(pool: Pool, id: Id, at: Date, before: Date): Promise<void> {
  await pool.query(
    'UPDATE access_tokens SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $3)',
    [id, at, before],
  );
}
