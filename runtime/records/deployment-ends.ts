import type { Database } from '../db/pool.ts';
import type { DeploymentState } from '../domain/deployment.ts';
import type { Id } from '../domain/ids.ts';
import { finishWork, wakeDispatcher } from './work.ts';

/** How a deployment that was accepted came to its end. */
export interface DeploymentEnd {
  state: 'succeeded' | 'failed' | 'superseded' | 'cancelled';
  /** What a person needs to know; absent for a success, which keeps what the record says of why it was made. */
  reason?: string;
  /** Of the image that its pods run, where it was not known. */
  digest?: string;
}

/** One deployment, if it is in one of the states `from` (default: any active one), or all active ones of an app. */
export type EndingDeployments = { id: Id; from?: readonly DeploymentState[] } | { workloadId: Id };

/**
 * Writes the end of deployments: the only place that does. The same statement puts the notifications of the project's
 * enabled targets and the work on them into the outbox, so that neither exists without the other; what is being built for
 * them is due to be stopped. Whoever writes more in the same transaction and takes the app's row for it
 * (`acceptDeployment` does) takes that first.
 * @returns the ids of those that it ended; none when they had ended already
 */
export async function recordEnds(
  database: Database,
  which: EndingDeployments,
  { state, reason, digest }: DeploymentEnd,
): Promise<Id[]> {
  const one = 'id' in which;
  const { rows } = await database.query<{ id: Id; due: boolean }>({
    // Planning it takes longer than running it.
    name: one ? 'record-end' : 'record-ends',
    text: `WITH ended AS (
       UPDATE deployments SET state = $2, reason = COALESCE($3, reason), digest = COALESCE(digest, $5),
         ended_at = clock_timestamp()
       WHERE ${one ? 'id' : 'workload_id'} = $1 AND ended_at IS NULL AND ($4::text[] IS NULL OR state = ANY($4))
       RETURNING id, workload_id),
     notified AS (
       INSERT INTO notification_deliveries (id, target_id, deployment_id, type)
       SELECT gen_random_uuid(), target.id, ended.id, 'deployment.' || $2
       FROM ended JOIN workloads ON workloads.id = ended.workload_id
         JOIN notification_targets target ON target.project = workloads.project
       WHERE target.enabled AND 'deployment.' || $2 = ANY(target.events)
         AND (target.apps IS NULL OR workloads.name = ANY(target.apps))
         AND (target.environments IS NULL OR workloads.environment = ANY(target.environments))
       RETURNING id),
     queued AS (
       INSERT INTO work (id, kind, record_id) SELECT gen_random_uuid(), 'notifications', id FROM notified),
     stopped AS (
       UPDATE work SET due_at = LEAST(due_at, now()) FROM ended
       WHERE kind = 'builds' AND record_id = ended.id AND work.state = 'pending' RETURNING 1)
     SELECT id, EXISTS (SELECT FROM notified) OR EXISTS (SELECT FROM stopped) AS due FROM ended`,
    values: [
      ...[one ? which.id : which.workloadId, state, reason ?? null, (one ? which.from : undefined) ?? null],
      digest ?? null,
    ],
  });
  if (rows[0]?.due) await wakeDispatcher(database);
  return rows.map(({ id }) => id);
}

/**
 * Ends every active deployment of an app, and the work on it. The caller's transaction holds the app's row.
 * @returns the ids of those that it ended
 */
export async function endActiveDeployments(
  database: Database,
  workloadId: Id,
  state: 'superseded' | 'cancelled',
  reason: string,
): Promise<Id[]> {
  const ids = await recordEnds(database, { workloadId }, { state, reason });
  await finishWork(database, 'rollouts', ids);
  return ids;
}
