import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** Bytes of a build's log that are kept at most: the last ones. */
export const buildLogMaxBytes = 1024 * 1024;

export interface BuildLog {
  text: string;
  /** Whether the beginning is left out. */
  truncated: boolean;
}

/** The end of a log that is no longer than what is kept, from the beginning of a line. Pure. */
export function boundedLog(text: string): BuildLog {
  // PostgreSQL takes no zero characters.
  const clean = text.replaceAll('\0', '');
  const bytes = Buffer.from(clean);
  if (bytes.length <= buildLogMaxBytes) return { text: clean, truncated: false };
  const tail = bytes.subarray(-buildLogMaxBytes).toString('utf8');
  return { text: tail.slice(tail.indexOf('\n') + 1), truncated: true };
}

/**
 * Keeps what a build has printed so far, in place of what was kept before. A pod that is on its way out tells less and
 * less: what is but the beginning of what was kept changes nothing.
 */
export async function saveBuildLog(database: Database, deploymentId: Id, { text, truncated }: BuildLog): Promise<void> {
  await database.query(
    `INSERT INTO build_logs (deployment_id, log, truncated) VALUES ($1, $2, $3)
     ON CONFLICT (deployment_id) DO UPDATE SET log = $2, truncated = $3, updated_at = now()
     WHERE NOT starts_with(build_logs.log, $2)`,
    [deploymentId, text, truncated],
  );
}

/** What was kept of a build's log; undefined when nothing was. */
export async function findBuildLog(database: Database, deploymentId: Id): Promise<BuildLog | undefined> {
  const { rows } = await database.query<BuildLog>(
    `SELECT log AS text, truncated FROM build_logs WHERE deployment_id = $1`,
    [deploymentId],
  );
  return rows[0];
}
