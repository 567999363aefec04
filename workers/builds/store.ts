import type { Pool } from 'pg';
import type { DeploymentState } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';

/** What a build step has to know of a deployment and its app. */
export interface BuildRecord {
  id: Id;
  workloadId: Id;
  namespace: string;
  name: string;
  revision: number;
  state: DeploymentState;
  commit: string | null;
  /** Whether its image is there and the rollout has it. */
  built: boolean;
  /** When it got its place; before that, when it was accepted. */
  since: Date;
  /** By the database's clock, which also schedules. */
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
