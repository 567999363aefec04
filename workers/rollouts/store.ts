import type { Pool } from 'pg';
import type { RevisionSettings } from '../../runtime/contracts/resources/app-settings.ts';
import type { DeploymentState } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { rolloutDeadlineMs } from '../../runtime/queues/catalogue.ts';
import type { Restored } from '../../runtime/records/deployments.ts';

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
  /** Of a rollback: what of the revision comes back beside the image. */
  restores: Restored | null;
  /** Of a rollback: what was kept of the revision that it brings back. */
  rollbackOf: number | null;
  keptSettings: RevisionSettings | null;
  keptEnvSecret: string | null;
  /** When it fails unless it has ended before. */
  deadline: Date;
  /** Whether the deadline has passed, by the database's clock, which also schedules. */
  overdue: boolean;
  /** Whether it has been overdue for a minute: what cannot be found out by then is given up. */
  expired: boolean;
}

const graceMs = 60_000;

export async function findRollout(pool: Pool, id: Id): Promise<Rollout | undefined> {
  const { rows } = await pool.query<Rollout>({
    name: 'find-rollout',
    text: `SELECT d.id, d.workload_id AS "workloadId", w.namespace, w.name, d.revision, d.state, d.image, d.digest,
       d.restores, d.rollback_of AS "rollbackOf", kept.settings AS "keptSettings", kept.env_secret AS "keptEnvSecret",
       COALESCE(d.built_at, d.accepted_at) + $2 * interval '1 ms' AS deadline,
       COALESCE(d.built_at, d.accepted_at) + $2 * interval '1 ms' <= now() AS overdue,
       COALESCE(d.built_at, d.accepted_at) + ($2 + $3) * interval '1 ms' <= now() AS expired
     FROM deployments d JOIN workloads w ON w.id = d.workload_id
       LEFT JOIN deployments kept ON kept.workload_id = d.workload_id AND kept.revision = d.rollback_of
     WHERE d.id = $1 AND d.revision IS NOT NULL`,
    values: [id, rolloutDeadlineMs, graceMs],
  });
  return rows[0];
}
