import type { Database } from '../db/pool.ts';
import { newId, type Id } from '../domain/ids.ts';
import {
  acceptanceArguments,
  runAcceptance,
  type Acceptance,
  type NewDeployment,
  type SkippedDeployment,
  type Unannounced,
} from './deployments.ts';

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
  redeliveryOf?: Id | undefined;
  actor?: string | undefined;
  notice?: unknown;
};

const columns = `v.id, v.received_at AS "receivedAt", v.sender, v.event, v.delivery_id AS "deliveryId", v.verdict, v.status,
  v.code, v.reason, v.deployment_id AS "deploymentId", d.revision, v.redelivery_of AS "redeliveryOf", v.actor`;
const source = 'webhook_deliveries v LEFT JOIN deployments d ON d.id = v.deployment_id';

const inserted = `webhook_deliveries (id, workload_id, sender, event, delivery_id, redelivery_of, actor, notice, body,
  body_bytes, code, verdict, status, reason, deployment_id)`;

/** The values of what is inserted, but for the last four. */
function valuesOf(id: Id, delivery: Omit<NewDelivery, 'verdict' | 'status'>): unknown[] {
  const { workloadId, sender, event, deliveryId, code, redeliveryOf, actor, notice, body, bodyBytes } = delivery;
  return [
    ...[id, workloadId, sender, event ?? null, deliveryId ?? null, redeliveryOf ?? null, actor ?? null],
    ...[notice === undefined ? null : JSON.stringify(notice), body, bodyBytes, code ?? null],
  ];
}

/** Records a delivery that made no deployment. @returns its id */
export async function insertDelivery(database: Database, delivery: NewDelivery): Promise<Id> {
  const id = newId();
  await database.query({
    name: 'insert-webhook-delivery',
    text: `INSERT INTO ${inserted} VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, NULL)`,
    values: [...valuesOf(id, delivery), delivery.verdict, delivery.status, delivery.reason ?? null],
  });
  return id;
}

/** What became of a delivery that was to make a deployment. */
export interface AcceptedDelivery extends Acceptance {
  delivery: Id;
  verdict: 'accepted' | 'duplicate' | 'skipped';
}

/**
 * Accepts the deployment that a delivery asks for, or records that it was skipped, and the delivery with it: in one
 * statement, so that neither exists without the other. It is the caller who announces what was accepted, if he can do so
 * later: nobody is to wait for that. @throws Problem as `acceptDeployment` does; nothing is written then
 */
export async function acceptDelivery(
  database: Database,
  delivery: Omit<NewDelivery, 'verdict' | 'status'>,
  deployment: NewDeployment | SkippedDeployment,
  skipped: boolean,
): Promise<Unannounced<AcceptedDelivery>> {
  const id = newId();
  const accepted = await runAcceptance<Omit<Unannounced<AcceptedDelivery>, 'delivery'>>(database, {
    name: 'accept-webhook-delivery',
    text: `WITH accepted AS (
        SELECT *, CASE WHEN NOT created THEN 'duplicate' WHEN state = 'skipped' THEN 'skipped' ELSE 'accepted' END AS verdict
        FROM accept_deployment($13, $14)),
      logged AS (
        INSERT INTO ${inserted} SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, verdict,
          CASE WHEN state = 'skipped' THEN 200 ELSE 202 END, $12, accepted.id FROM accepted)
      SELECT * FROM accepted`,
    values: [...valuesOf(id, delivery), delivery.reason ?? null, ...acceptanceArguments(deployment, skipped)],
  });
  return { ...accepted, delivery: id };
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
