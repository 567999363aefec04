import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { textTail, withoutNul, type TextTail } from '../domain/text-tail.ts';

/** Maximum bytes stored of a build's log: the last ones. */
export const buildLogMaxBytes = 1024 * 1024;

/** The end of a log, shortened to what is stored. Pure. */
export function boundedLog(text: string): TextTail {
  return textTail(Buffer.from(withoutNul(text)), buildLogMaxBytes);
}

/**
 * Saves a build's output so far. A terminating pod returns less and less output: a text that is only the beginning of
 * the saved one does not replace it.
 */
export async function saveBuildLog(database: Database, deploymentId: Id, { text, truncated }: TextTail): Promise<void> {
  await database.query(
    `INSERT INTO build_logs (deployment_id, log, truncated) VALUES ($1, $2, $3)
     ON CONFLICT (deployment_id) DO UPDATE SET log = $2, truncated = $3, updated_at = now()
     WHERE NOT starts_with(build_logs.log, $2)`,
    [deploymentId, text, truncated],
  );
}

/** The saved log of a build; undefined without one. */
export async function findBuildLog(database: Database, deploymentId: Id): Promise<TextTail | undefined> {
  const { rows } = await database.query<TextTail>(
    `SELECT log AS text, truncated FROM build_logs WHERE deployment_id = $1`,
    [deploymentId],
  );
  return rows[0];
}
