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

/**
 * Deployments of all apps of a project, newest first: up to `limit`, older than the deployment `before`. Finds as many of
 * each app in an index, and reads only those of the page: a join would read and sort all deployments of the project.
 */
export async function listProjectDeployments(
  database: Database,
  project: string,
  { limit, before, environment, app, status, trigger }: DeploymentFilters & { limit: number; before?: Id | undefined },
): Promise<Deployment[]> {
  const values: unknown[] = [project, limit];
  const where = (condition: string, value: unknown) =>
    value === undefined ? '' : `AND ${condition.replace('?', `$${values.push(value)}`)}`;
  const { rows } = await database.query<Deployment>(
    `WITH newest AS MATERIALIZED (
       SELECT of_app.id FROM workloads w CROSS JOIN LATERAL (
         SELECT accepted_at, id FROM deployments WHERE workload_id = w.id
           ${where('(accepted_at, id) < (SELECT accepted_at, id FROM deployments WHERE id = ?)', before)}
           ${where('state = ?', status)} ${where('trigger = ?', trigger)}
         ORDER BY accepted_at DESC, id DESC LIMIT $2) AS of_app
       WHERE w.project = $1 ${where('w.environment = ?', environment)} ${where('w.name = ?', app)}
       ORDER BY of_app.accepted_at DESC, of_app.id DESC LIMIT $2)
     SELECT ${deploymentColumns} FROM ${deploymentSource} JOIN newest ON newest.id = d.id
     ORDER BY d.accepted_at DESC, d.id DESC`,
    values,
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
