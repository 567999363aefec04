import type { Pool } from 'pg';
import type { DeploymentState } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';

/** The deployment and app of a build step. */
export interface BuildRecord {
  id: Id;
  workloadId: Id;
  namespace: string;
  name: string;
  revision: number;
  state: DeploymentState;
  commit: string | null;
  /** Whether the image is built and the rollout was queued. */
  built: boolean;
  /** When the build started; before that, when the deployment was accepted. */
  since: Date;
  /** The time of the database, which also schedules work. */
  now: Date;
}

export async function findBuild(pool: Pool, id: Id): Promise<BuildRecord | undefined> {
  const { rows } = await pool.query<BuildRecord>(
    `SELECT d.id, d.workload_id AS "workloadId", w.namespace, w.name, d.revision, d.state, d.commit,
       d.built_at IS NOT NULL AS built, COALESCE(d.started_at, d.accepted_at) AS since, now() AS now
     FROM deployments d JOIN workloads w ON w.id = d.workload_id WHERE d.id = $1 AND d.revision IS NOT NULL`,
    [id],
  );
  return rows[0];
}
