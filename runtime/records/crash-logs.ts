import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { withoutNul, type TextTail } from '../domain/text-tail.ts';

/** Maximum bytes stored of the log of a pod that failed a rollout: the last ones. */
export const crashLogMaxBytes = 64 * 1024;

/** The end of the log of a pod that failed a rollout, kept after the pod is gone. */
export interface CrashLog extends TextTail {
  pod: string;
}

/** Saves the log of a failed rollout; the first one stays. */
export async function saveCrashLog(
  database: Database,
  deploymentId: Id,
  { pod, text, truncated }: CrashLog,
): Promise<void> {
  await database.query(
    `INSERT INTO crash_logs (deployment_id, pod, log, truncated) VALUES ($1, $2, $3, $4)
     ON CONFLICT (deployment_id) DO NOTHING`,
    [deploymentId, pod, withoutNul(text), truncated],
  );
}

/** The saved log of a failed rollout; undefined without one. */
export async function findCrashLog(database: Database, deploymentId: Id): Promise<CrashLog | undefined> {
  const { rows } = await database.query<CrashLog>(
    `SELECT pod, log AS text, truncated FROM crash_logs WHERE deployment_id = $1`,
    [deploymentId],
  );
  return rows[0];
}
