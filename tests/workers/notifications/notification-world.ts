import type { Pool } from 'pg';
import type { Attempt, Outcome } from '../../../runtime/bus/runner.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { notificationSecretContext } from '../../../runtime/domain/notification.ts';
import { parseKeyRing, seal } from '../../../runtime/domain/sealed.ts';
import { newWebhookSecret, signWebhook } from '../../../runtime/domain/standard-webhooks.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { endDeployment } from '../../../runtime/records/deployments.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { silentLog } from '../../support/log.ts';
import type { Received } from './receiver.ts';

/** One app of the project `shop`, and targets for its notifications. */
export async function notificationWorld(pool: Pool, keys: string) {
  const ring = parseKeyRing(keys);
  const app = {
    id: newId(),
    kind: 'App' as const,
    environmentId: newId(),
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  };
  await projectWorkload(pool, app);
  return {
    app,
    target: async (url: string, name = 'ops'): Promise<{ id: Id; secret: string }> => {
      const [id, secret] = [newId(), newWebhookSecret()];
      await pool.query(
        `INSERT INTO notification_targets (id, project_id, project, name, url, secret, events)
         VALUES ($1, $2, 'shop', $3, $4, $5, ARRAY['deployment.failed', 'deployment.superseded'])`,
        [id, newId(), name, url, seal(ring, notificationSecretContext(id), secret)],
      );
      return { id, secret };
    },
    /** A deployment that fails. */
    fail: async (reason = 'The image is missing.'): Promise<Id> => {
      const { id } = await transaction(pool, (client) =>
        acceptDeployment(client, {
          workloadId: app.id,
          trigger: 'webhook',
          image: 'r/api:2',
          commit: 'abc',
          commitMessage: 'Fix it',
        }),
      );
      await endDeployment(pool, id, 'failed', reason);
      return id;
    },
    deliveries: async () => {
      const { rows } = await pool.query<{
        id: Id;
        type: string;
        state: string;
        attempts: { status: number | null; error: string | null }[] | null;
      }>(
        `SELECT d.id, d.type, d.state, (SELECT json_agg(json_build_object('status', status, 'error', error) ORDER BY at)
           FROM notification_attempts WHERE delivery_id = d.id) AS attempts
         FROM notification_deliveries d ORDER BY created_at`,
      );
      return rows;
    },
  };
}

/** Runs an attempt as the runner does. */
export function attemptOf(recordId: Id, options: Partial<Attempt> = {}): Attempt {
  return { recordId, attempt: 1, last: false, signal: new AbortController().signal, log: silentLog, ...options };
}

/** How long after `now` an outcome is due, in seconds. */
export function waitOf(outcome: Outcome, now: Date): number {
  if (outcome === 'done') throw new Error('it is done');
  return (outcome.again.getTime() - now.getTime()) / 1000;
}

/** Whether a receiver with the secret accepts the message. */
export function verifies(secret: string, { headers, body }: Received): boolean {
  const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']];
  if (typeof id !== 'string' || typeof timestamp !== 'string') return false;
  return headers['webhook-signature'] === signWebhook(secret, { id, timestamp: Number(timestamp), body });
}
