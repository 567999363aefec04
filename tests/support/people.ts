import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import type { PlatformRole, ProjectRole } from '../../runtime/domain/roles.ts';
import { insertSession, sessionTokenDigest } from '../../runtime/records/sessions.ts';

/** A signed-in user. */
export interface Person {
  id: Id;
  email: string;
  /** The headers of the person's requests. */
  headers: { authorization: string };
}

export interface PersonOptions {
  /** On the platform; default `member`. */
  role?: PlatformRole;
  /** Roles by the id of the project. */
  projects?: Readonly<Record<Id, ProjectRole>>;
  /** Signed in with a one-time password. */
  newcomer?: boolean;
}

const hourMs = 3_600_000;

/** Creates a user with a session, without the time of hashing a password; the address is `<name>@svc.local`. */
export async function signedIn(pool: Pool, name: string, options: PersonOptions = {}): Promise<Person> {
  const { role = 'member', projects = {}, newcomer = false } = options;
  const [id, email, now] = [newId(), `${name}@svc.local`, new Date()];
  const later = new Date(now.getTime() + hourMs);
  const provenHash = `unusable-${name}`;
  await pool.query('INSERT INTO users (id, email, password_hash, role, one_time_until) VALUES ($1, $2, $3, $4, $5)', [
    id,
    email,
    provenHash,
    role,
    newcomer ? later : null,
  ]);
  for (const [projectId, projectRole] of Object.entries(projects)) {
    await pool.query('INSERT INTO project_members (project_id, user_id, role) VALUES ($1, $2, $3)', [
      projectId,
      id,
      projectRole,
    ]);
  }
  const token = `svcs_${createHash('sha256').update(id).digest('hex').slice(0, 40)}`;
  await insertSession(
    pool,
    { id: newId(), userId: id, provenHash, tokenDigest: sessionTokenDigest(token), expiresAt: later },
    now,
  );
  return { id, email, headers: { authorization: `Bearer ${token}` } };
}
