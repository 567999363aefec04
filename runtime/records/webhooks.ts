import type { ClientBase } from 'pg';
import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';

/** An app's webhook; its token is sealed in a Secret of the cluster, under `v<version>` (spec.md §2.3). */
export interface Webhook {
  enabled: boolean;
  version: number;
  updatedAt: Date;
}

/** The one answer to every failed proof, so that nobody learns which apps there are. */
export function invalidWebhookToken(): Problem {
  return new Problem('invalid_webhook_token', 'The webhook token or signature is missing or wrong.');
}

/** The app's webhook, or undefined when it never had one. */
export async function findWebhook(database: Database, workloadId: Id): Promise<Webhook | undefined> {
  const { rows } = await database.query<Webhook>(
    `SELECT enabled, version, updated_at AS "updatedAt" FROM webhooks WHERE workload_id = $1`,
    [workloadId],
  );
  return rows[0];
}

/**
 * Enables the webhook with the token of `version`, which must have been written before; every older one is invalid from
 * the commit on. False when a newer version counts already: another enable was faster.
 * @throws Problem `not_ready` when the app is not projected yet
 */
export async function enableWebhook(database: Database, workloadId: Id, version: number): Promise<boolean> {
  const { rowCount: known } = await database.query('SELECT 1 FROM workloads WHERE id = $1', [workloadId]);
  if (!known) throw new Problem('not_ready', 'The app is still being set up; try again in a few seconds.');
  const { rowCount } = await database.query(
    `INSERT INTO webhooks (workload_id, enabled, version) VALUES ($1, true, $2)
     ON CONFLICT (workload_id) DO UPDATE SET enabled = true, version = $2, updated_at = now()
     WHERE webhooks.version < $2`,
    [workloadId, version],
  );
  return rowCount === 1;
}

/** Disables the webhook: its token opens nothing any more, also after it is enabled again. False when it was disabled. */
export async function disableWebhook(database: Database, workloadId: Id): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE webhooks SET enabled = false, updated_at = now() WHERE workload_id = $1 AND enabled`,
    [workloadId],
  );
  return rowCount === 1;
}

/**
 * A guard for `acceptDeployment`: the webhook is enabled and `version`, whose token was proved, still counts when the
 * deployment is accepted. @throws Problem `invalid_webhook_token`
 */
export function webhookGuard(version: number): (client: ClientBase, workloadId: Id) => Promise<void> {
  return async (client, workloadId) => {
    const { rowCount } = await client.query(
      `SELECT 1 FROM webhooks WHERE workload_id = $1 AND enabled AND version = $2 FOR SHARE`,
      [workloadId, version],
    );
    if (rowCount !== 1) throw invalidWebhookToken();
  };
}
