import type { Pool, PoolClient } from 'pg';
import { transaction } from '../db/pool.ts';
import { acceptDeployment, type Acceptance, type NewDeployment } from '../records/deployments.ts';
import type { RouteReply } from './route.ts';

export interface AcceptOptions {
  pool: Pool;
  /** The public address of the management API, without a trailing slash. */
  baseUrl: string;
  /** The app's project, which is part of the status URL. */
  project: string;
  /** What is asked for; as a function it is worked out in the transaction that accepts. */
  deployment: NewDeployment | ((client: PoolClient) => Promise<NewDeployment>);
  /** Told what was accepted, once that is certain. */
  onAccepted?: (acceptance: Acceptance) => void;
}

/**
 * Accepts a deployment in a transaction of its own and answers as everything does that deploys: 202 with
 * `deploymentAccepted`, and the status URL as Location.
 * @throws Problem `not_ready` before the app's controller has seen it, `not_found`, and what the deployment's guard throws
 */
export async function accept(options: AcceptOptions): Promise<RouteReply> {
  const { pool, baseUrl, project, deployment, onAccepted } = options;
  const acceptance = await transaction(pool, async (client) =>
    acceptDeployment(client, typeof deployment === 'function' ? await deployment(client) : deployment),
  );
  onAccepted?.(acceptance);
  const { id, revision, state } = acceptance;
  if (revision === null) throw new Error('a key that finds skipped deployments is answered by whoever chose it');
  const statusUrl = `${baseUrl}/api/v1/projects/${project}/deployments/${id}`;
  return { status: 202, headers: { Location: statusUrl }, body: { id, revision, status: state, statusUrl } };
}
