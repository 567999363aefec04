import type { Pool } from 'pg';
import type { Database } from '../db/pool.ts';
import { auditDetailsOf, auditObjectOf, type AuditLine, type AuditObject } from '../domain/audit.ts';
import type { Clock } from '../domain/clock.ts';
import { lowestId, newId, type Id } from '../domain/ids.ts';

/** A stored entry of the audit log. */
export interface AuditEntry {
  id: Id;
  at: Date;
  action: string;
  /** The email address of the user, also of the one for whom an access token acts; `svc` for the platform itself. */
  actor: string;
  tokenId: Id | null;
  token: string | null;
  project: string | null;
  environment: string | null;
  objectKind: AuditObject['kind'] | null;
  object: AuditObject['name'] | null;
  requestId: string | null;
  details: Record<string, unknown>;
}

/** An audit line, and what its entry has besides. */
export interface NewAuditEntry {
  line: AuditLine;
  requestId?: string;
}

/** Maximum length of a name, in characters. */
const textMax = 400;

/** For how long a user counts as one who has just changed something. */
const recently = `interval '10 seconds'`;

/**
 * SQL for whether a user changed something in the last seconds: every change has an entry before it is answered. Entries of
 * reads count too. It reads one row of an index. @param email the expression of the user's address
 */
export function hasChanged(email: string): string {
  return `COALESCE((SELECT at FROM audit_entries WHERE actor = ${email} ORDER BY audit_entries.id DESC LIMIT 1)
    > clock_timestamp() - ${recently}, false)`;
}

/** Stores an audit line. Repeating it with the same id changes nothing. */
export async function insertAuditEntry(
  database: Database,
  { line, requestId }: NewAuditEntry,
  id: Id = newId(),
): Promise<void> {
  const { action, actor, token, projectId, project, environment } = line;
  const object = auditObjectOf(line);
  // Requests with NUL are refused, and names are short; an entry must be stored whatever its fields contain.
  const textOf = (value: string | undefined) => value?.slice(0, textMax).replaceAll('\0', '\uFFFD') ?? null;
  await database.query(
    `INSERT INTO audit_entries (id, action, actor, token_id, token, project_id, project, environment, object_kind, object,
       request_id, details)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING`,
    [
      id,
      action,
      token?.user ?? actor,
      token?.id ?? null,
      token?.name ?? null,
      projectId ?? null,
      textOf(project),
      textOf(environment),
      object?.kind ?? null,
      textOf(object?.name),
      requestId ?? null,
      JSON.stringify(auditDetailsOf(line)),
    ],
  );
}

/** Stores an audit line, or rejects. */
export type RecordAudit = (entry: NewAuditEntry) => Promise<void>;

/** Pauses before further attempts, in ms: a connection that broke is replaced at once, a database that restarts is not. */
const pausesMs = [50, 500];
/** After it, no further attempt begins, because a client waits, in ms. */
const patienceMs = 5_000;

/** Stores audit lines, with a few attempts: what an entry is about cannot be undone when it fails (decision 0070). */
export function createAuditRecorder({ pool, clock }: { pool: Pool; clock: Clock }): RecordAudit {
  return async (entry) => {
    const [id, started] = [newId(), clock.monotonic()];
    for (const pauseMs of [...pausesMs, undefined]) {
      try {
        return await insertAuditEntry(pool, entry, id);
      } catch (error) {
        if (pauseMs === undefined || clock.monotonic() - started > patienceMs) throw error;
        await clock.sleep(pauseMs);
      }
    }
  };
}

/**
 * How far the time in an entry's id, which the process made, may be from its time in the database, in ms: the difference of
 * their clocks, and the attempts to store it.
 */
const idSlackMs = 3_600_000;

/** What a list of entries is limited to; absent fields match everything. */
export interface AuditFilters {
  /** The identity of a project. */
  projectId?: Id | undefined;
  /** The name of a project. */
  project?: string | undefined;
  /** The beginning of the action. */
  action?: string | undefined;
  actor?: string | undefined;
  environment?: string | undefined;
  /** The name of the object. */
  object?: string | undefined;
  /** Inclusive. */
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

/** Up to `limit` entries, newest first, older than the entry `before`. */
export async function listAuditEntries(
  database: Database,
  { limit, before, ...filters }: AuditFilters & { limit: number; before?: Id | undefined },
): Promise<AuditEntry[]> {
  const { projectId, project, action, actor, environment, object, since, until } = filters;
  const conditions: string[] = [];
  const values: unknown[] = [];
  const where = (condition: (place: string) => string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  where((place) => `id < ${place}`, before);
  where((place) => `project_id = ${place}`, projectId);
  where((place) => `project = ${place}`, project);
  // The order of the characters' codes, in which "~" is after all characters of actions, is that of the index.
  where((place) => `action COLLATE "C" >= ${place} AND action COLLATE "C" < ${place} || '~'`, action);
  where((place) => `actor = ${place}`, actor);
  where((place) => `environment = ${place}`, environment);
  where((place) => `object = ${place}`, object);
  where((place) => `at >= ${place}`, since);
  where((place) => `at < ${place}`, until);
  // Entries are read in the order of their ids, so these skip the ones outside of the time.
  where((place) => `id >= ${place}`, since && lowestId(new Date(since.getTime() - idSlackMs)));
  where((place) => `id < ${place}`, until && lowestId(new Date(until.getTime() + idSlackMs)));
  values.push(limit);
  const { rows } = await database.query<AuditEntry>(
    `SELECT id, at, action, actor, token_id AS "tokenId", token, project, environment, object_kind AS "objectKind", object,
       request_id AS "requestId", details
     FROM audit_entries ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}
     ORDER BY id DESC LIMIT $${values.length}`,
    values,
  );
  return rows;
}
