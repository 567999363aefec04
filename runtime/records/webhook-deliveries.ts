import type { Database } from '../db/pool.ts';
import { newId, type Id } from '../domain/ids.ts';

/** One request to a webhook whose sender proved the token, or what a person repeated or tried of it. */
export interface Delivery {
  id: Id;
  receivedAt: Date;
  sender: string;
  event: string | null;
  deliveryId: string | null;
  verdict: 'accepted' | 'duplicate' | 'skipped' | 'ignored' | 'refused';
  /** The HTTP status that was answered. */
  status: number;
  code: string | null;
  reason: string | null;
  deploymentId: Id | null;
  /** Of the deployment. */
  revision: number | null;
  redeliveryOf: Id | null;
  actor: string | null;
}

/** A delivery with what was sent. */
export interface FullDelivery extends Delivery {
  /** What was understood of the body; null when it was not. */
  notice: unknown;
  /** Masked; of a long one its beginning. */
  body: string;
  bodyBytes: number;
}

export type NewDelivery = Pick<FullDelivery, 'sender' | 'verdict' | 'status' | 'body' | 'bodyBytes'> & {
  workloadId: Id;
  event?: string | undefined;
  deliveryId?: string | undefined;
  code?: string | undefined;
  reason?: string | undefined;
  deploymentId?: Id | undefined;
  redeliveryOf?: Id | undefined;
  actor?: string | undefined;
  notice?: unknown;
};

const columns = `v.id, v.received_at AS "receivedAt", v.sender, v.event, v.delivery_id AS "deliveryId", v.verdict, v.status,
  v.code, v.reason, v.deployment_id AS "deploymentId", d.revision, v.redelivery_of AS "redeliveryOf", v.actor`;
const source = 'webhook_deliveries v LEFT JOIN deployments d ON d.id = v.deployment_id';

/** Records a delivery; in the transaction that accepts, so that neither exists without the other. @returns its id */
export async function insertDelivery(database: Database, delivery: NewDelivery): Promise<Id> {
  const id = newId();
  const { workloadId, sender, event, deliveryId, verdict, status, code, reason, deploymentId } = delivery;
  const { redeliveryOf, actor, notice, body, bodyBytes } = delivery;
  await database.query({
    name: 'insert-webhook-delivery',
    text: `INSERT INTO webhook_deliveries (id, workload_id, sender, event, delivery_id, verdict, status, code, reason,
       deployment_id, redelivery_of, actor, notice, body, body_bytes)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    values: [
      ...[id, workloadId, sender, event ?? null, deliveryId ?? null, verdict, status, code ?? null, reason ?? null],
      ...[deploymentId ?? null, redeliveryOf ?? null, actor ?? null],
      ...[notice === undefined ? null : JSON.stringify(notice), body, bodyBytes],
    ],
  });
  return id;
}

/** An app's deliveries, newest first: up to `limit`, those before the delivery `before`. */
export async function listDeliveries(
  database: Database,
  workloadId: Id,
  { limit, before }: { limit: number; before?: Id | undefined },
): Promise<Delivery[]> {
  const { rows } = await database.query<Delivery>(
    `SELECT ${columns} FROM ${source} WHERE v.workload_id = $1 AND ($2::uuid IS NULL OR (v.received_at, v.id) <
       (SELECT received_at, id FROM webhook_deliveries WHERE id = $2 AND workload_id = $1))
     ORDER BY v.received_at DESC, v.id DESC LIMIT $3`,
    [workloadId, before ?? null, limit],
  );
  return rows;
}

/** One delivery of an app. */
export async function getDelivery(database: Database, workloadId: Id, id: Id): Promise<FullDelivery | undefined> {
  const { rows } = await database.query<FullDelivery>(
    `SELECT ${columns}, v.notice, v.body, v.body_bytes AS "bodyBytes" FROM ${source}
     WHERE v.workload_id = $1 AND v.id = $2`,
    [workloadId, id],
  );
  return rows[0];
}
