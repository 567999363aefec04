import type { Pool } from 'pg';
import { transaction } from '../../runtime/db/pool.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { testEvent, type DeliveryState } from '../../runtime/domain/notification.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { renewWork } from '../../runtime/records/work.ts';

/** One message to one target. */
export interface DeliveryRow {
  id: Id;
  type: string;
  state: DeliveryState;
  deploymentId: Id | null;
  app: string | null;
  environment: string | null;
  revision: number | null;
  createdAt: Date;
  endedAt: Date | null;
  attempts: number;
  lastAt: Date | null;
  lastDurationMs: number | null;
  lastStatus: number | null;
  lastError: string | null;
  /** Null when the delivery has ended, or while an attempt is in progress. */
  nextAt: Date | null;
}

const selection = `SELECT d.id, d.type, d.state, d.deployment_id AS "deploymentId", w.name AS app, w.environment,
    p.revision, d.created_at AS "createdAt", d.ended_at AS "endedAt",
    (SELECT count(*)::integer FROM notification_attempts a WHERE a.delivery_id = d.id) AS attempts,
    last.at AS "lastAt", last.duration_ms AS "lastDurationMs", last.status AS "lastStatus", last.error AS "lastError",
    CASE WHEN d.state = 'pending' AND isfinite(k.due_at) THEN k.due_at END AS "nextAt"
  FROM notification_deliveries d
    LEFT JOIN deployments p ON p.id = d.deployment_id LEFT JOIN workloads w ON w.id = p.workload_id
    LEFT JOIN work k ON k.kind = 'notifications' AND k.record_id = d.id AND k.state = 'pending'
    LEFT JOIN LATERAL (SELECT * FROM notification_attempts a WHERE a.delivery_id = d.id ORDER BY at DESC LIMIT 1) last
      ON true`;

/** A target's deliveries, newest first: up to `limit` before the delivery `before`. */
export async function listDeliveries(
  pool: Pool,
  targetId: Id,
  { limit, before }: { limit: number; before?: Id | undefined },
): Promise<DeliveryRow[]> {
  const { rows } = await pool.query<DeliveryRow>(
    `${selection} WHERE d.target_id = $1 AND ($2::uuid IS NULL OR (d.created_at, d.id) <
       (SELECT created_at, id FROM notification_deliveries WHERE id = $2 AND target_id = $1))
     ORDER BY d.created_at DESC, d.id DESC LIMIT $3`,
    [targetId, before ?? null, limit],
  );
  return rows;
}

/** A delivery of a target; undefined for an unknown id. */
export async function findDelivery(pool: Pool, targetId: Id, id: Id): Promise<DeliveryRow | undefined> {
  const { rows } = await pool.query<DeliveryRow>(`${selection} WHERE d.target_id = $1 AND d.id = $2`, [targetId, id]);
  return rows[0];
}

/** One attempt of a delivery. */
export interface AttemptRow {
  at: Date;
  durationMs: number;
  status: number | null;
  error: string | null;
}

/** All attempts of a delivery, newest first. */
export async function listAttempts(pool: Pool, deliveryId: Id): Promise<AttemptRow[]> {
  const { rows } = await pool.query<AttemptRow>(
    `SELECT at, duration_ms AS "durationMs", status, error FROM notification_attempts
     WHERE delivery_id = $1 ORDER BY at DESC LIMIT 200`,
    [deliveryId],
  );
  return rows;
}

/** Test messages of a target in a minute: without a limit, a script could fill the table, and flood a receiver of others. */
const testsMax = 10;

/** Sends a test message to the target. @throws Problem `too_many_requests` beyond {@link testsMax} in a minute */
export async function insertTest(pool: Pool, targetId: Id): Promise<Id> {
  const id = newId();
  await transaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`notification tests ${targetId}`]);
    const { rowCount } = await client.query(
      `INSERT INTO notification_deliveries (id, target_id, type) SELECT $1, $2, $3
       WHERE (SELECT count(*) FROM notification_deliveries
         WHERE target_id = $2 AND type = $3 AND created_at > now() - interval '1 minute') < $4`,
      [id, targetId, testEvent, testsMax],
    );
    if (rowCount === 0) {
      const message = `The notification had ${testsMax} test messages in the last minute, which is the limit.`;
      throw new Problem('too_many_requests', message, { details: { max: testsMax, retryAfterSeconds: 60 } });
    }
    await renewWork(client, 'notifications', id);
  });
  return id;
}

/** Sends a delivery again now, with the same id, whatever its state. The count of attempts restarts at zero. */
export async function redeliver(pool: Pool, id: Id): Promise<void> {
  await transaction(pool, async (client) => {
    await client.query(
      `UPDATE notification_deliveries SET state = 'pending', ended_at = NULL, begun_at = clock_timestamp() WHERE id = $1`,
      [id],
    );
    await renewWork(client, 'notifications', id);
  });
}
