import type { Pool } from 'pg';
import type { DeploymentState } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { rolloutDeadlineMs } from '../../runtime/queues/catalogue.ts';

/** What a rollout step has to know of a deployment and its app. */
export interface Rollout {
  id: Id;
  workloadId: Id;
  namespace: string;
  name: string;
  revision: number;
  state: DeploymentState;
  image: string;
  digest: string | null;
  /** When it fails unless it has ended before. */
  deadline: Date;
  /** Whether the deadline has passed, by the database's clock, which also schedules. */
  overdue: boolean;
  /** Whether it has been overdue for a minute: what cannot be found out by then is given up. */
  expired: boolean;
}

const graceMs = 60_000;

export async function findRollout(pool: Pool, id: Id): Promise<Rollout | undefined> {
  const { rows } = await pool.query<Rollout>(
    `SELECT d.id, d.workload_id AS "workloadId", w.namespace, w.name, d.revision, d.state, d.image, d.digest,
       COALESCE(d.built_at, d.accepted_at) + $2 * interval '1 ms' AS deadline, COALESCE(d.built_at, d.accepted_at) + $2 * interval '1 ms' <= now() AS overdue,
       COALESCE(d.built_at, d.accepted_at) + ($2 + $3) * interval '1 ms' <= now() AS expired
     FROM deployments d JOIN workloads w ON w.id = d.workload_id WHERE d.id = $1 AND d.revision IS NOT NULL`,
    [id, rolloutDeadlineMs, graceMs],
  );
  return rows[0];
}
