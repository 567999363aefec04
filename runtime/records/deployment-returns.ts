import type { ClientBase, Pool, PoolClient } from 'pg';
import { transaction, type Database } from '../db/pool.ts';
import { hasEnded, type DeploymentState } from '../domain/deployment.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { holdApp } from './app-lock.ts';
import { acceptDeployment, endDeployment, sameImage, targetColumns, type RollbackTarget } from './deployments.ts';
import { finishWork } from './work.ts';

/** The actor of what the platform does by itself. */
export const platformActor = 'svc';
/** Of a reason of many lines, what another entry of the history repeats. */
const quotedMax = 300;

/** Revisions, counted back from the newest that succeeded, whose environments are kept for a rollback. */
const keptRevisions = 10;

/** The deployment that takes an app back to its last good revision. */
export interface Return {
  id: Id;
  revision: number;
  /** The revision that it brings back. */
  to: number;
}

/** How a deployment ended. */
export interface End {
  /** False when it had ended before, and nothing was written. */
  ended: boolean;
  /** Undefined when the app stays as it is. */
  returned?: Return | undefined;
}

/** The fields of a deployment that its end is judged by. */
interface Ending {
  id: Id;
  workloadId: Id;
  revision: number;
  state: DeploymentState;
  automatic: boolean;
  /** Whether a worker may have written its release into the App. */
  handedOver: boolean;
  /** Whether one may have written that of another, which it superseded or whose return it was, since the last good one. */
  followsApplied: boolean;
}

/**
 * Ends an active deployment as failed and, in the same transaction, accepts the one that takes the app back to the last
 * revision that succeeded before it. There is none when that is not wanted, when nothing was applied since that revision,
 * when the failed one was such a return itself (so that it never goes in circles), or when no earlier revision succeeded.
 * One that a newer deployment superseded has ended already, and nothing happens.
 * @param options.applied whether its release may be in the App @param options.goBack whether the app's owner wants it
 */
export async function failDeployment(
  pool: Pool,
  id: Id,
  reason: string,
  { applied, goBack }: { applied: boolean; goBack: boolean },
): Promise<End> {
  return transaction(pool, async (client) => {
    const found = await lockEnding(client, id);
    if (!found || !(await endDeployment(client, id, 'failed', reason))) return { ended: false };
    const undone = goBack && !found.automatic && (applied || found.followsApplied);
    const good = undone ? await lastGood(client, found) : undefined;
    if (!good) return { ended: true };
    const why = `Automatic: revision ${found.revision} failed: ${firstLine(reason)}`;
    return { ended: true, returned: await goBackTo(client, good, found, { actor: platformActor, reason: why }) };
  });
}

/**
 * Ends an active deployment as cancelled by somebody. Where its release may have been written into the App already, the
 * app goes back to the last good revision, in the same transaction: the higher revision also keeps a worker that was
 * about to write it from having the last word.
 * @throws Problem `not_found`, `conflict` when it has ended already
 */
export async function cancelDeployment(pool: Pool, id: Id, actor: string): Promise<End> {
  return transaction(pool, async (client) => {
    const found = await lockEnding(client, id);
    if (!found) throw new Problem('not_found', 'There is no deployment of this id, or its app was deleted.');
    const applied = found.state === 'rolling_out' || found.handedOver || found.followsApplied;
    const good = applied ? await lastGood(client, found) : undefined;
    const left = applied && !good ? ' No earlier revision succeeded, so what had begun was left as it is.' : '';
    if (!(await endDeployment(client, id, 'cancelled', `Cancelled by ${actor}.${left}`))) {
      throw new Problem(
        'conflict',
        `Revision ${found.revision} ${hasEnded(found.state) ? `has ended already (${found.state})` : 'ends right now'}; roll back instead, if it is what runs.`,
        { details: { revision: found.revision, state: found.state } },
      );
    }
    await finishWork(client, 'rollouts', [id]);
    if (!good) return { ended: true };
    const reason = `Automatic: ${actor} cancelled revision ${found.revision}.`;
    return { ended: true, returned: await goBackTo(client, good, found, { actor, reason }) };
  });
}

/**
 * The names of the Secrets with the environments that an app's history still needs: of the last ten revisions that
 * succeeded, of what has not ended, and of what that brings back.
 */
export async function keptEnvironments(database: Database, workloadId: Id): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT DISTINCT env_secret AS name FROM deployments
     WHERE workload_id = $1 AND env_secret IS NOT NULL AND (ended_at IS NULL
       OR revision IN (SELECT rollback_of FROM deployments WHERE workload_id = $1 AND ended_at IS NULL)
       OR revision IN (SELECT revision FROM deployments WHERE workload_id = $1 AND state = 'succeeded'
         ORDER BY revision DESC LIMIT $2))`,
    [workloadId, keptRevisions],
  );
  return rows.map(({ name }) => name);
}

/**
 * The deployment as it is, with its app's row held, and that of its rollout's work: nobody accepts or ends one of this app
 * meanwhile, and nobody is handed this one.
 */
async function lockEnding(client: ClientBase, id: Id): Promise<Ending | undefined> {
  const app = await client.query<{ id: Id }>(`SELECT workload_id AS id FROM deployments WHERE id = $1`, [id]);
  if (!app.rows[0] || !(await holdApp(client, app.rows[0].id))) return undefined;
  await client.query(`SELECT FROM work WHERE kind = 'rollouts' AND record_id = $1 FOR UPDATE`, [id]);
  const { rows } = await client.query<Ending>(
    `SELECT id, workload_id AS "workloadId", revision, state, automatic, EXISTS (SELECT FROM work
       WHERE kind = 'rollouts' AND record_id = d.id AND attempt > 0) AS "handedOver", EXISTS (
       SELECT FROM deployments other JOIN work ON record_id = other.id AND kind = 'rollouts' AND attempt > 0
       WHERE other.workload_id = d.workload_id AND other.id <> d.id
         AND (other.state IN ('superseded', 'cancelled') OR other.state = 'failed' AND other.rolled_back_to IS NOT NULL)
         AND other.revision > (SELECT max(revision) FROM deployments WHERE workload_id = d.workload_id
           AND deployments.state = 'succeeded')) AS "followsApplied"
     FROM deployments d WHERE id = $1 AND revision IS NOT NULL`,
    [id],
  );
  return rows[0];
}

async function lastGood(client: ClientBase, { workloadId, revision }: Ending): Promise<RollbackTarget | undefined> {
  const { rows } = await client.query<RollbackTarget & { automatic: boolean; rollbackOf: number | null }>(
    `SELECT ${targetColumns}, automatic, rollback_of AS "rollbackOf" FROM deployments
     WHERE workload_id = $1 AND state = 'succeeded' AND revision < $2 ORDER BY revision DESC LIMIT 1`,
    [workloadId, revision],
  );
  const good = rows[0];
  // What a return brought back is called by the revision that it first was.
  return good?.automatic && good.rollbackOf !== null ? { ...good, revision: good.rollbackOf } : good;
}

async function goBackTo(
  client: PoolClient,
  good: RollbackTarget,
  { id, workloadId }: Ending,
  { actor, reason }: { actor: string; reason: string },
): Promise<Return> {
  const accepted = await acceptDeployment(client, {
    workloadId,
    trigger: 'rollback',
    ...sameImage(good),
    actor,
    rollbackOf: good.revision,
    // As it ran: a variable that is wrong may be why the newer one failed.
    restores: 'environment',
    automatic: true,
    reason,
  });
  await client.query('UPDATE deployments SET rolled_back_to = $2 WHERE id = $1', [id, good.revision]);
  if (accepted.revision === null) throw new Error('the rollback took no revision');
  return { id: accepted.id, revision: accepted.revision, to: good.revision };
}

function firstLine(reason: string): string {
  const [line = ''] = reason.split('\n');
  return line.length > quotedMax ? `${line.slice(0, quotedMax)}…` : line;
}
