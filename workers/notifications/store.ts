import type { Pool } from 'pg';
import { transaction } from '../../runtime/db/pool.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { DeliveryState } from '../../runtime/domain/notification.ts';

/** A notification to send, with its target. */
export interface Delivery {
  id: Id;
  type: string;
  state: DeliveryState;
  createdAt: Date;
  /** Null for an alert and for a test. */
  deploymentId: Id | null;
  /** Null for a deployment and for a test. */
  alertId: Id | null;
  /** Recorded attempts since its creation or the last manual redelivery. */
  attempts: number;
  targetId: Id;
  targetName: string;
  project: string;
  url: string;
  /** Sealed. */
  secret: string;
  enabled: boolean;
}

export async function findDelivery(pool: Pool, id: Id): Promise<Delivery | undefined> {
  const { rows } = await pool.query<Delivery>(
    `SELECT d.id, d.type, d.state, d.created_at AS "createdAt", d.deployment_id AS "deploymentId", d.alert_id AS "alertId",
       (SELECT count(*)::integer FROM notification_attempts a WHERE a.delivery_id = d.id AND a.at >= d.begun_at)
         AS attempts, t.id AS "targetId", t.name AS "targetName", t.project, t.url, t.secret, t.enabled
     FROM notification_deliveries d JOIN notification_targets t ON t.id = d.target_id WHERE d.id = $1`,
    [id],
  );
  return rows[0];
}

/** The result of one attempt. */
export interface AttemptRecord {
  durationMs: number;
  status: number | undefined;
  /** Absent when it was delivered. */
  error: string | undefined;
}

/**
 * Records an attempt and the new state of the delivery, and disables the target with `disabledReason`. The state of a
 * delivery that ended meanwhile stays.
 */
export async function recordAttempt(
  pool: Pool,
  { id, targetId }: Pick<Delivery, 'id' | 'targetId'>,
  { durationMs, status, error }: AttemptRecord,
  { state, disabledReason }: { state: DeliveryState; disabledReason: string | undefined },
): Promise<void> {
  await transaction(pool, async (client) => {
    await client.query(
      `INSERT INTO notification_attempts (delivery_id, duration_ms, status, error) VALUES ($1, $2, $3, $4)`,
      [id, durationMs, status ?? null, error ?? null],
    );
    await endDelivery(client, id, state);
    if (disabledReason === undefined) return;
    await client.query(
      `UPDATE notification_targets SET enabled = false, disabled_reason = $2, updated_at = now()
       WHERE id = $1 AND enabled`,
      [targetId, disabledReason],
    );
  });
}

/** Ends a pending delivery; does nothing for the state `pending`. */
export async function endDelivery(pool: Pick<Pool, 'query'>, id: Id, state: DeliveryState): Promise<void> {
  if (state === 'pending') return;
  await pool.query(
    `UPDATE notification_deliveries SET state = $2, ended_at = clock_timestamp() WHERE id = $1 AND state = 'pending'`,
    [id, state],
  );
}
