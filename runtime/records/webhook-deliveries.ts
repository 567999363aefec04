import pg from 'pg';
import type { Database } from '../db/pool.ts';
import type { DeploymentState } from '../domain/deployment.ts';
import { newId, type Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import {
  acceptanceArgumentNames,
  acceptanceArguments,
  acceptanceCall,
  acceptanceValues,
  runAcceptances,
  type Acceptance,
  type NewDeployment,
  type Unannounced,
} from './acceptance.ts';

/** A request to a webhook with a valid token, or a test or redelivery by a user. */
export interface Delivery {
  id: Id;
  receivedAt: Date;
  sender: string;
  event: string | null;
  deliveryId: string | null;
  verdict: 'accepted' | 'duplicate' | 'skipped' | 'ignored' | 'refused';
  /** The HTTP status of the response. */
  status: number;
  code: string | null;
  reason: string | null;
  deploymentId: Id | null;
  /** The revision of the deployment. */
  revision: number | null;
  /** The status of the deployment now, which may have ended after the response. */
  deploymentStatus: DeploymentState | null;
  redeliveryOf: Id | null;
  actor: string | null;
}

/** A delivery with its request. */
export interface FullDelivery extends Delivery {
  /** The parsed event; null when the body could not be parsed. */
  webhookEvent: unknown;
  /** Masked; of a long body, only the beginning. */
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
  webhookEvent?: unknown;
};

const columns = `v.id, v.received_at AS "receivedAt", v.sender, v.event, v.delivery_id AS "deliveryId", v.verdict, v.status,
  v.code, v.reason, v.deployment_id AS "deploymentId", d.revision, d.state AS "deploymentStatus", v.redelivery_of AS "redeliveryOf", v.actor`;
const source = 'webhook_deliveries v LEFT JOIN deployments d ON d.id = v.deployment_id';

/** The columns of a delivery that are known before its outcome, with their types. */
const logged = {
  id: 'uuid',
  workload_id: 'uuid',
  sender: 'text',
  event: 'text',
  delivery_id: 'text',
  redelivery_of: 'uuid',
  actor: 'text',
  webhook_event: 'jsonb',
  body: 'text',
  body_bytes: 'integer',
  code: 'text',
  reason: 'text',
};
const loggedColumns = Object.keys(logged);

/**
 * The statement that accepts deployments in the order of the requests and logs their deliveries. Each parameter is the array
 * of one column: those of the log, then the arguments of `accept_deployment`. @param restriction of the requests
 */
function acceptanceText(restriction: string): string {
  const arrays = [...Object.values(logged), ...Object.values(acceptanceArguments)].map(
    (type, index) => `$${index + 1}::${type}[]`,
  );
  const columns = [...loggedColumns, ...acceptanceArgumentNames.map((name) => `new_${name}`)];
  return `WITH request AS (
      SELECT request.* FROM unnest(${arrays.join(', ')})
        WITH ORDINALITY AS request (${columns.join(', ')}, position) ${restriction}),
    accepted AS (
      SELECT position::integer, request.id AS delivery, accepted.*,
        CASE WHEN NOT created THEN 'duplicate' WHEN state = 'skipped' THEN 'skipped' ELSE 'accepted' END AS verdict
      FROM request, ${acceptanceCall((name) => `request.new_${name}`)} AS accepted),
    logged AS (
      INSERT INTO webhook_deliveries (${loggedColumns.join(', ')}, verdict, status, deployment_id)
      SELECT ${loggedColumns.map((column) => `request.${column}`).join(', ')}, verdict,
        CASE WHEN state = 'skipped' THEN 200 ELSE 202 END, accepted.id
      FROM accepted JOIN request USING (position))
    SELECT * FROM accepted`;
}

const acceptance = { name: 'accept-webhook-delivery', text: acceptanceText('') };
/** Leaves out the requests for apps that another transaction holds. */
const freeAcceptances = {
  name: 'accept-webhook-deliveries',
  text: acceptanceText(
    // Not a join, whose plan may read all workloads.
    `CROSS JOIN LATERAL (SELECT FROM workloads WHERE workloads.id = workload_id FOR NO KEY UPDATE SKIP LOCKED) AS app
     ORDER BY position`,
  ),
};

/** The values of {@link logged}, in their order. */
function valuesOf(id: Id, delivery: Omit<NewDelivery, 'verdict' | 'status'>): unknown[] {
  const { workloadId, sender, event, deliveryId, code, redeliveryOf, actor, webhookEvent, body, bodyBytes, reason } =
    delivery;
  return [
    id,
    workloadId,
    sender,
    event ?? null,
    deliveryId ?? null,
    redeliveryOf ?? null,
    actor ?? null,
    webhookEvent === undefined ? null : JSON.stringify(webhookEvent),
    body,
    bodyBytes,
    code ?? null,
    reason ?? null,
  ];
}

/** Records a delivery that made no deployment. @returns its id */
export async function insertDelivery(database: Database, delivery: NewDelivery): Promise<Id> {
  const id = newId();
  const values = [...valuesOf(id, delivery), delivery.verdict, delivery.status];
  await database.query({
    name: 'insert-webhook-delivery',
    text: `INSERT INTO webhook_deliveries (${loggedColumns.join(', ')}, verdict, status)
      VALUES (${values.map((_, index) => `$${index + 1}`).join(', ')})`,
    values,
  });
  return id;
}

/** The outcome of a delivery that requests a deployment. */
interface AcceptedDelivery extends Acceptance {
  delivery: Id;
  verdict: 'accepted' | 'duplicate' | 'skipped';
}

/** A delivery and the deployment that it requests. */
export interface DeliveredRequest {
  delivery: Omit<NewDelivery, 'verdict' | 'status'>;
  deployment: NewDeployment;
}

type Accepted = Unannounced<AcceptedDelivery>;

/**
 * Accepts the deployment of a delivery and logs the delivery in the same statement. The caller announces the acceptance,
 * after it has answered where it can. @throws Problem as `acceptDeployment` does; then nothing is written
 */
export async function acceptDelivery(database: Database, request: DeliveredRequest): Promise<Accepted> {
  const [accepted] = await acceptAll(database, [request], acceptance);
  if (!accepted) throw new Error('accept_deployment returned no row');
  return accepted;
}

/**
 * Accepts several deliveries as {@link acceptDelivery} does, in one statement with one commit, without waiting for locks:
 * requests for apps that another transaction holds are left out, and all of them if one is refused.
 * @returns the outcomes, in the order of the requests; undefined for a request that was left out
 */
export async function acceptDeliveries(
  database: Database,
  requests: readonly DeliveredRequest[],
): Promise<(Accepted | undefined)[]> {
  try {
    return await acceptAll(database, requests, freeAcceptances);
  } catch (error) {
    const refused = error instanceof Problem || (error instanceof pg.DatabaseError && !isShutdown(error));
    if (refused) return requests.map(() => undefined);
    throw error;
  }
}

/** Whether the server stopped or ended the session, so that it is unknown whether the statement was committed. */
const isShutdown = ({ code = '' }: pg.DatabaseError) => code.startsWith('57P');

async function acceptAll(
  database: Database,
  requests: readonly DeliveredRequest[],
  { name, text }: { name: string; text: string },
): Promise<(Accepted | undefined)[]> {
  const rows = requests.map(({ delivery, deployment }) => [
    ...valuesOf(newId(), delivery),
    ...acceptanceValues(deployment),
  ]);
  const columns = [...loggedColumns, ...acceptanceArgumentNames].map((_, column) => rows.map((row) => row[column]));
  const accepted = await runAcceptances<Accepted & { position: number }>(database, { name, text, values: columns });
  const outcomes: (Accepted | undefined)[] = requests.map(() => undefined);
  for (const { position, ...outcome } of accepted) outcomes[position - 1] = outcome;
  return outcomes;
}

/** An app's deliveries, newest first: up to `limit`, older than the delivery `before`. */
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

/** Finds a delivery of an app. */
export async function getDelivery(database: Database, workloadId: Id, id: Id): Promise<FullDelivery | undefined> {
  const { rows } = await database.query<FullDelivery>(
    `SELECT ${columns}, v.webhook_event AS "webhookEvent", v.body, v.body_bytes AS "bodyBytes" FROM ${source}
     WHERE v.workload_id = $1 AND v.id = $2`,
    [workloadId, id],
  );
  return rows[0];
}
