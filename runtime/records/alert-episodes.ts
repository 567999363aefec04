import type { Pool } from 'pg';
import { transaction, type Database } from '../db/pool.ts';
import { newId, type Id } from '../domain/ids.ts';
import { platformTargets } from '../domain/notification.ts';
import { wakeDispatcher } from './work.ts';

/** What a notification says about an alert. */
interface AlertContent {
  name: string;
  severity: string;
  scope: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** An alert as it was listed. */
export interface ListedAlert {
  fingerprint: string;
  startsAt: Date;
  /** Silenced alerts do not begin an episode; one that has begun goes on. */
  silenced: boolean;
  content: AlertContent;
}

/** How long an alert is missing before its episode ends: Prometheus sends all alerts again within a minute. */
const missingMs = 120_000;

/** One alert from its start to its end. */
export interface AlertEpisode {
  alert: AlertContent;
  startedAt: Date;
  endedAt: Date | null;
}

export async function findEpisode(database: Database, id: Id): Promise<AlertEpisode | undefined> {
  const { rows } = await database.query<AlertEpisode>(
    `SELECT alert, started_at AS "startedAt", ended_at AS "endedAt" FROM alert_episodes WHERE id = $1`,
    [id],
  );
  return rows[0];
}

/**
 * Compares the alerts that fire with the episodes, and writes one delivery for each target of the platform that subscribes
 * to a beginning or an end. Two at once write nothing twice.
 * @param listed all alerts that fire, silenced ones included
 */
export async function recordAlerts(
  pool: Pool,
  listed: readonly ListedAlert[],
): Promise<{ begun: number; ended: number }> {
  return transaction(pool, async (client) => {
    const fresh = listed.filter(({ silenced }) => !silenced);
    const begun = await client.query<{ id: Id }>(
      `INSERT INTO alert_episodes (id, fingerprint, alert, started_at)
       SELECT * FROM unnest($1::uuid[], $2::text[], $3::jsonb[], $4::timestamptz[])
       ON CONFLICT (fingerprint) WHERE ended_at IS NULL DO NOTHING RETURNING id`,
      [
        fresh.map(() => newId()),
        fresh.map(({ fingerprint }) => fingerprint),
        fresh.map(({ content }) => JSON.stringify(content)),
        fresh.map(({ startsAt }) => startsAt),
      ],
    );
    await client.query(
      `UPDATE alert_episodes SET missing_since = CASE WHEN fingerprint = ANY($1) THEN NULL ELSE now() END
       WHERE ended_at IS NULL AND (missing_since IS NULL) <> (fingerprint = ANY($1))`,
      [listed.map(({ fingerprint }) => fingerprint)],
    );
    const ended = await client.query<{ id: Id }>(
      `UPDATE alert_episodes SET ended_at = now()
       WHERE ended_at IS NULL AND missing_since < now() - $1 * interval '1 millisecond' RETURNING id`,
      [missingMs],
    );
    const events = [
      ...begun.rows.map(({ id }) => ({ id, type: 'alert.firing' })),
      ...ended.rows.map(({ id }) => ({ id, type: 'alert.resolved' })),
    ];
    if (events.length > 0) {
      await client.query(
        `WITH deliveries AS (
           INSERT INTO notification_deliveries (id, target_id, alert_id, type)
           SELECT gen_random_uuid(), target.id, event.id, event.type
           FROM unnest($1::uuid[], $2::text[]) AS event (id, type)
             JOIN notification_targets target ON target.project_id = $3
           WHERE target.enabled AND event.type = ANY(target.events) ON CONFLICT DO NOTHING RETURNING id)
         INSERT INTO work (id, kind, record_id) SELECT gen_random_uuid(), 'notifications', id FROM deliveries`,
        [events.map(({ id }) => id), events.map(({ type }) => type), platformTargets],
      );
      await wakeDispatcher(client);
    }
    return { begun: begun.rows.length, ended: ended.rows.length };
  });
}
