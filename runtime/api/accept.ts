import type { Pool, PoolClient } from 'pg';
import { transaction } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { acceptDeployment, type NewDeployment } from '../records/acceptance.ts';
import type { RouteReply } from '../http/route.ts';

export interface AcceptOptions {
  pool: Pool;
  /** The public address of the management API, without a trailing slash. */
  baseUrl: string;
  /** The app's project, which is part of the status URL. */
  project: string;
  /** The deployment; a function computes it within the transaction that accepts it. */
  deployment: NewDeployment | ((client: PoolClient) => Promise<NewDeployment>);
  /** Stores what belongs to the accepted deployment, in the same transaction. */
  complete?: (client: PoolClient, id: Id) => Promise<void>;
}

/**
 * Accepts a deployment in its own transaction and replies 202 with `deploymentAccepted`, and its status URL as Location.
 * @throws Problem `not_ready` before the app's controller has recorded it, `not_found`, and what `deployment` and `complete` throw
 */
export async function accept(options: AcceptOptions): Promise<RouteReply> {
  const { pool, baseUrl, project, deployment, complete } = options;
  const { id, revision, state } = await transaction(pool, async (client) => {
    const request = typeof deployment === 'function' ? await deployment(client) : deployment;
    const accepted = await acceptDeployment(client, request);
    await complete?.(client, accepted.id);
    return accepted;
  });
  if (revision === null) throw new Error('a deployment without a deduplication key has a revision');
  const statusUrl = `${baseUrl}/api/v1/projects/${project}/deployments/${id}`;
  const body = { id, revision, status: state, statusUrl };
  return { status: 202, headers: { Location: statusUrl }, body, audit: { deploymentId: id, revision } };
}
