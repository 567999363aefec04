import type { Database } from '../db/pool.ts';
import type { DeploymentState, DeploymentTrigger } from '../domain/deployment.ts';
import type { Id } from '../domain/ids.ts';
import { deploymentColumns, deploymentSource, type Deployment } from './deployments.ts';

/** Filters for a project's deployments; absent fields match everything. */
export interface DeploymentFilters {
  environment?: string | undefined;
  app?: string | undefined;
  status?: DeploymentState | undefined;
  trigger?: DeploymentTrigger | undefined;
}

/** Deployments of all apps of a project, newest first: up to `limit`, older than the deployment `before`. */
export async function listProjectDeployments(
  database: Database,
  project: string,
  { limit, before, environment, app, status, trigger }: DeploymentFilters & { limit: number; before?: Id | undefined },
): Promise<Deployment[]> {
  const { rows } = await database.query<Deployment>(
    `SELECT ${deploymentColumns} FROM ${deploymentSource}
     WHERE w.project = $1 AND ($2::uuid IS NULL OR (d.accepted_at, d.id) <
         (SELECT accepted_at, id FROM deployments WHERE id = $2))
       AND ($3::text IS NULL OR w.environment = $3) AND ($4::text IS NULL OR w.name = $4)
       AND ($5::text IS NULL OR d.state = $5) AND ($6::text IS NULL OR d.trigger = $6)
     ORDER BY d.accepted_at DESC, d.id DESC LIMIT $7`,
    [project, before ?? null, environment ?? null, app ?? null, status ?? null, trigger ?? null, limit],
  );
  return rows;
}

/** How the newest deployment of an app that was not skipped stands. */
export type LastOutcome = Pick<Deployment, 'workloadId' | 'revision' | 'state' | 'reason'>;

/** The newest deployment of each app that was not skipped. Apps without one are absent. */
export async function lastOutcomes(database: Database, workloadIds: readonly string[]): Promise<LastOutcome[]> {
  const { rows } = await database.query<LastOutcome>(
    `SELECT last.* FROM unnest($1::uuid[]) AS app(id) CROSS JOIN LATERAL (
       SELECT workload_id AS "workloadId", revision, state, reason FROM deployments
       WHERE workload_id = app.id AND state <> 'skipped' ORDER BY accepted_at DESC, id DESC LIMIT 1) AS last`,
    [workloadIds],
  );
  return rows;
}
