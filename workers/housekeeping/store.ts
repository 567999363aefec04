import type { Pool } from 'pg';
import { transaction } from '../../runtime/db/pool.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { foldedIncarnation } from '../../runtime/records/gate-replicas.ts';

/** Closes the process lives of checkers that have not reported for this long. @returns the closed ones */
export async function closeSilentReplicas(pool: Pool, silentMs: number): Promise<{ incarnation: Id; name: string }[]> {
  const { rows } = await pool.query<{ incarnation: Id; name: string }>(
    `UPDATE gate_replicas SET closed_at = now()
     WHERE closed_at IS NULL AND seen_at < now() - $1 * interval '1 ms' RETURNING incarnation, name`,
    [silentMs],
  );
  return rows;
}

/** A closed process life with usage that is not folded yet. */
export async function findUnfolded(pool: Pool): Promise<Id | undefined> {
  const { rows } = await pool.query<{ incarnation: Id }>(
    `SELECT incarnation FROM gate_replicas WHERE closed_at IS NOT NULL AND folded_at IS NULL ORDER BY closed_at LIMIT 1`,
  );
  return rows[0]?.incarnation;
}

/**
 * Moves up to `limit` rows of usage of a closed process life to the nil UUID. Readers see the same sum of a key's usage at
 * every moment.
 * @returns the number of moved rows; fewer than `limit` means that all are folded, which is recorded
 */
export async function foldUsage(pool: Pool, incarnation: Id, limit: number): Promise<number> {
  return transaction(pool, async (client) => {
    // Shorter than deadlock_timeout, so that a concurrent deletion of keys wins and this is repeated.
    await client.query(`SET LOCAL lock_timeout = '800ms'`);
    // The lock excludes other folds; its own process cannot write usage, because the process life is closed.
    const { rowCount } = await client.query(
      `SELECT FROM gate_replicas WHERE incarnation = $1 AND closed_at IS NOT NULL AND folded_at IS NULL FOR UPDATE`,
      [incarnation],
    );
    if (rowCount === 0) return 0;
    const { rows } = await client.query<{ moved: number }>(
      `WITH moved AS (
         DELETE FROM usage WHERE incarnation = $1 AND (key_id, day) IN (
           SELECT key_id, day FROM usage WHERE incarnation = $1 ORDER BY key_id, day LIMIT $3)
         RETURNING key_id, day, allowed, rate_denied, quota_denied),
       added AS (
         INSERT INTO usage (key_id, day, incarnation, allowed, rate_denied, quota_denied, version)
           SELECT key_id, day, $2, allowed, rate_denied, quota_denied, (SELECT next_usage_version()) FROM moved
           ORDER BY key_id, day
         ON CONFLICT (key_id, day, incarnation) DO UPDATE SET allowed = usage.allowed + excluded.allowed,
           rate_denied = usage.rate_denied + excluded.rate_denied,
           quota_denied = usage.quota_denied + excluded.quota_denied, version = excluded.version)
       SELECT count(*)::integer AS moved FROM moved`,
      [incarnation, foldedIncarnation, limit],
    );
    const moved = rows[0]?.moved ?? 0;
    if (moved < limit) {
      await client.query('UPDATE gate_replicas SET folded_at = now() WHERE incarnation = $1', [incarnation]);
    }
    return moved;
  });
}

/** Deletes up to `limit` rows of usage of days before `day`. @returns the number of rows */
export async function purgeUsage(pool: Pool, day: string, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM usage WHERE (key_id, day, incarnation) IN (
       SELECT key_id, day, incarnation FROM usage WHERE day < $1::date LIMIT $2)`,
    [day, limit],
  );
  return rowCount ?? 0;
}

/** Deletes up to `limit` rows of work that was done before `before`. @returns the number of rows */
export async function purgeWork(pool: Pool, before: Date, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM work WHERE id IN (SELECT id FROM work WHERE state = 'done' AND done_at < $1 LIMIT $2)`,
    [before, limit],
  );
  return rowCount ?? 0;
}

/** Tables with a retention, with the key and the age of a row. */
const agedTables = {
  /** Age since the request. */
  webhook_deliveries: { key: 'id', at: 'received_at' },
  /** Age since the last output. */
  build_logs: { key: 'deployment_id', at: 'updated_at' },
  /** Age since the failure. */
  crash_logs: { key: 'deployment_id', at: 'updated_at' },
  /** Age since the deployment was accepted. */
  deployment_sources: { key: 'deployment_id', at: 'created_at' },
  /** Age since the end of the alert. */
  alert_episodes: { key: 'id', at: 'ended_at' },
  /** Age since the request. */
  audit_entries: { key: 'id', at: 'at' },
  /** Age since the last message; the messages are deleted with it. */
  assistant_conversations: { key: 'id', at: 'updated_at' },
  /** Age since the hour. */
  assistant_usage: { key: 'hour', at: 'hour' },
  /** Age since the end of the delivery; the attempts are deleted with it. */
  notification_deliveries: { key: 'id', at: 'ended_at' },
} as const;

/** Deletes up to `limit` rows from before `before`. @returns the number of rows */
export async function purgeAged(
  pool: Pool,
  table: keyof typeof agedTables,
  before: Date,
  limit: number,
): Promise<number> {
  const { key, at } = agedTables[table];
  const { rowCount } = await pool.query(
    `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${at} < $1 LIMIT $2)`,
    [before, limit],
  );
  return rowCount ?? 0;
}

/**
 * Deletes the content of up to `limit` dead letters from before `before`. Their ids stay known, so that rows that are still
 * in the source are not delivered again; the next complete reading deletes the others. @returns the number of dead letters
 */
export async function purgeDeadLetters(pool: Pool, before: Date, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `UPDATE function_events SET state = 'known', payload = '', due_at = 'infinity' WHERE id IN (
       SELECT id FROM function_events WHERE state = 'dead' AND ended_at < $1 LIMIT $2)`,
    [before, limit],
  );
  return rowCount ?? 0;
}

/** Deletes expired sessions. @returns the number of rows */
export async function purgeSessions(pool: Pool, now: Date): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM sessions WHERE expires_at <= $1', [now]);
  return rowCount ?? 0;
}

/** Deletes access tokens that expired before `before`. @returns the number of rows */
export async function purgeTokens(pool: Pool, before: Date): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM access_tokens WHERE expires_at <= $1', [before]);
  return rowCount ?? 0;
}

/**
 * Deletes the records of process lives that were folded before `before`. The record of a checker that may still run has to
 * stay: without it the checker would start to count again, and twice. @returns the number of rows
 */
export async function purgeReplicas(pool: Pool, before: Date): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM gate_replicas WHERE folded_at < $1', [before]);
  return rowCount ?? 0;
}
