import pg from 'pg';
import type { Database } from '../db/pool.ts';
import { newId, type Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import {
  acceptanceArguments,
  runAcceptances,
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

/** What is known of a delivery before it is settled: columns and their types. */
const given = {
  ...{ id: 'uuid', workload_id: 'uuid', sender: 'text', event: 'text', delivery_id: 'text', redelivery_of: 'uuid' },
  ...{ actor: 'text', notice: 'jsonb', body: 'text', body_bytes: 'integer', code: 'text', reason: 'text' },
};
const givenColumns = Object.keys(given);

/** Accepts all that is asked for, in its order, with the rows of the delivery log. @param restriction of what is asked for */
function acceptanceText(restriction: string): string {
  const types = [...Object.values(given), 'jsonb'];
  return `WITH asked AS (
      SELECT asked.* FROM unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
        WITH ORDINALITY AS asked (${givenColumns.join(', ')}, request, position) ${restriction}),
    accepted AS (
      SELECT position::integer, asked.id AS delivery, accepted.*,
        CASE WHEN NOT created THEN 'duplicate' WHEN state = 'skipped' THEN 'skipped' ELSE 'accepted' END AS verdict
      FROM asked, accept_deployment(workload_id, request) AS accepted),
    logged AS (
      INSERT INTO webhook_deliveries (${givenColumns.join(', ')}, verdict, status, deployment_id)
      SELECT ${givenColumns.map((column) => `asked.${column}`).join(', ')}, verdict,
        CASE WHEN state = 'skipped' THEN 200 ELSE 202 END, accepted.id
      FROM accepted JOIN asked USING (position))
    SELECT * FROM accepted`;
}

const acceptance = { name: 'accept-webhook-delivery', text: acceptanceText('') };
/** Of those alone whose app nobody holds. */
const freeAcceptances = {
  name: 'accept-webhook-deliveries',
  text: acceptanceText(
    'JOIN workloads ON workloads.id = workload_id ORDER BY position FOR NO KEY UPDATE OF workloads SKIP LOCKED',
  ),
};

/** The values of {@link given}. */
function valuesOf(id: Id, delivery: Omit<NewDelivery, 'verdict' | 'status'>): unknown[] {
  const { workloadId, sender, event, deliveryId, code, redeliveryOf, actor, notice, body, bodyBytes, reason } =
    delivery;
  return [
    ...[id, workloadId, sender, event ?? null, deliveryId ?? null, redeliveryOf ?? null, actor ?? null],
    ...[notice === undefined ? null : JSON.stringify(notice), body, bodyBytes, code ?? null, reason ?? null],
  ];
}

/** Records a delivery that made no deployment. @returns its id */
export async function insertDelivery(database: Database, delivery: NewDelivery): Promise<Id> {
  const id = newId();
  const values = [...valuesOf(id, delivery), delivery.verdict, delivery.status];
  await database.query({
    name: 'insert-webhook-delivery',
    text: `INSERT INTO webhook_deliveries (${givenColumns.join(', ')}, verdict, status)
      VALUES (${values.map((_, index) => `$${index + 1}`).join(', ')})`,
    values,
  });
  return id;
}

/** What became of a delivery that was to make a deployment. */
export interface AcceptedDelivery extends Acceptance {
  delivery: Id;
  verdict: 'accepted' | 'duplicate' | 'skipped';
}

/** A delivery, and the deployment that it asks for. */
export interface DeliveredRequest {
  delivery: Omit<NewDelivery, 'verdict' | 'status'>;
  deployment: NewDeployment | SkippedDeployment;
  /** Whether the deployment is only recorded as skipped. */
  skipped: boolean;
}

type Accepted = Unannounced<AcceptedDelivery>;

/**
 * Accepts the deployment that a delivery asks for, or records that it was skipped, and the delivery with it: neither
 * exists without the other. It is the caller who announces what was accepted, if he can do so later: nobody is to wait for
 * that. @throws Problem as `acceptDeployment` does; nothing is written then
 */
export async function acceptDelivery(database: Database, request: DeliveredRequest): Promise<Accepted> {
  const [accepted] = await acceptTogether(database, [request], acceptance);
  if (!accepted) throw new Error('an acceptance has one row');
  return accepted;
}

/**
 * Accepts several as {@link acceptDelivery} does, in one statement with one commit, and waits for nobody: those whose app
 * somebody else holds are left out, and all of them when one is refused. @returns what became of each; undefined: nothing
 */
export async function acceptDeliveries(
  database: Database,
  requests: readonly DeliveredRequest[],
): Promise<(Accepted | undefined)[]> {
  try {
    return await acceptTogether(database, requests, freeAcceptances);
  } catch (error) {
    const refused = error instanceof Problem || (error instanceof pg.DatabaseError && !isIntervention(error));
    if (refused) return requests.map(() => undefined);
    throw error;
  }
}

/** Whether the server was stopped or ended the session: nobody knows whether that came after the commit. */
const isIntervention = ({ code = '' }: pg.DatabaseError) => code.startsWith('57P');

async function acceptTogether(
  database: Database,
  requests: readonly DeliveredRequest[],
  { name, text }: { name: string; text: string },
): Promise<(Accepted | undefined)[]> {
  const asked = requests.map(({ delivery, deployment, skipped }) => {
    const [, request] = acceptanceArguments(deployment, skipped);
    return [...valuesOf(newId(), delivery), request];
  });
  // A column is a parameter.
  const values = [...givenColumns, 'request'].map((_, column) => asked.map((row) => row[column]));
  const rows = await runAcceptances<Accepted & { position: number }>(database, { name, text, values });
  const became: (Accepted | undefined)[] = requests.map(() => undefined);
  for (const { position, ...accepted } of rows) became[position - 1] = accepted;
  return became;
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
