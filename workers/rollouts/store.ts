import type { Pool } from 'pg';
import type { RevisionSettings } from '../../runtime/contracts/resources/app-settings.ts';
import type { DeploymentState, DeploymentTrigger } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { rolloutDeadlineMs } from '../../runtime/queues/catalogue.ts';
import type { Restored } from '../../runtime/records/acceptance.ts';

/** The deployment and app of a rollout step. */
export interface Rollout {
  id: Id;
  workloadId: Id;
  project: string;
  namespace: string;
  name: string;
  revision: number;
  state: DeploymentState;
  trigger: DeploymentTrigger;
  image: string;
  digest: string | null;
  /** Of a rollback: what it restores besides the image. */
  restores: Restored | null;
  /** Of a rollback: the revision that it restores, with its stored settings and environment Secret. */
  rollbackOf: number | null;
  keptSettings: RevisionSettings | null;
  keptEnvSecret: string | null;
  /** When the deployment fails if it has not ended. */
  deadline: Date;
  /** Whether the deadline has passed, by the clock of the database, which also schedules work. */
  overdue: boolean;
  /** Whether it has been overdue for a minute, after which errors end it. */
  expired: boolean;
}

const graceMs = 60_000;

export async function findRollout(pool: Pool, id: Id): Promise<Rollout | undefined> {
  const { rows } = await pool.query<Rollout>({
    name: 'find-rollout',
    text: `SELECT d.id, d.workload_id AS "workloadId", w.project, w.namespace, w.name, d.revision, d.state, d.trigger, d.image, d.digest,
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
