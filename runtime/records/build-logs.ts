import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { textEnd, type TextEnd } from '../domain/text-end.ts';

/** Bytes of a build's log that are kept at most: the last ones. */
export const buildLogMaxBytes = 1024 * 1024;

/** The end of a log that is no longer than what is kept. Pure. */
export function boundedLog(text: string): TextEnd {
  // PostgreSQL takes no zero characters.
  return textEnd(Buffer.from(text.replaceAll('\0', '')), buildLogMaxBytes);
}

/**
 * Keeps what a build has printed so far, in place of what was kept before. A pod that is on its way out tells less and
 * less: what is but the beginning of what was kept changes nothing.
 */
export async function saveBuildLog(database: Database, deploymentId: Id, { text, truncated }: TextEnd): Promise<void> {
  await database.query(
    `INSERT INTO build_logs (deployment_id, log, truncated) VALUES ($1, $2, $3)
     ON CONFLICT (deployment_id) DO UPDATE SET log = $2, truncated = $3, updated_at = now()
     WHERE NOT starts_with(build_logs.log, $2)`,
    [deploymentId, text, truncated],
  );
}

/** What was kept of a build's log; undefined when nothing was. */
export async function findBuildLog(database: Database, deploymentId: Id): Promise<TextEnd | undefined> {
  const { rows } = await database.query<TextEnd>(
    `SELECT log AS text, truncated FROM build_logs WHERE deployment_id = $1`,
    [deploymentId],
  );
  return rows[0];
}
