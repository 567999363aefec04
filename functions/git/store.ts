import type { Pool } from 'pg';
import type { BuildView } from '../../runtime/contracts/api/git.ts';
import type { DeploymentState, DeploymentTrigger } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';

interface BuildRow {
  id: Id;
  app: string;
  environment: string;
  revision: number;
  trigger: DeploymentTrigger;
  state: DeploymentState;
  commit: string | null;
  image: string;
  reason: string | null;
  acceptedAt: Date;
  builtAt: Date | null;
}

/** The deployments of an environment that need or needed a build, newest first: up to `limit` before the deployment `before`. */
export async function listBuilds(
  pool: Pool,
  namespace: string,
  { limit, before }: { limit: number; before?: Id | undefined },
): Promise<BuildView[]> {
  const { rows } = await pool.query<BuildRow>(
    `SELECT d.id, w.name AS app, w.environment, d.revision, d.trigger, d.state, d.commit, d.image, d.reason,
       d.accepted_at AS "acceptedAt", d.built_at AS "builtAt"
     FROM deployments d JOIN workloads w ON w.id = d.workload_id
     WHERE w.namespace = $1 AND d.revision IS NOT NULL AND (d.image = '' OR d.built_at IS NOT NULL)
       AND ($2::uuid IS NULL OR (d.accepted_at, d.id) < (SELECT accepted_at, id FROM deployments WHERE id = $2))
     ORDER BY d.accepted_at DESC, d.id DESC LIMIT $3`,
    [namespace, before ?? null, limit],
  );
  return rows.map(buildToView);
}

function buildToView(row: BuildRow): BuildView {
  const { id, app, environment, revision, trigger, state, commit, image, reason, acceptedAt, builtAt } = row;
  return {
    deploymentId: id,
    app,
    environment,
    revision,
    trigger,
    status: statusOf(row),
    deploymentStatus: state,
    ...(commit !== null && { commit }),
    ...(reason !== null && { reason }),
    ...(image !== '' && { image }),
    acceptedAt: acceptedAt.toISOString(),
    ...(builtAt && { builtAt: builtAt.toISOString() }),
  };
}

function statusOf({ state, builtAt }: BuildRow): BuildView['status'] {
  if (builtAt) return 'succeeded';
  if (state === 'failed' || state === 'superseded' || state === 'cancelled') return state;
  return state === 'building' ? 'building' : 'pending';
}
