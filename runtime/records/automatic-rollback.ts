import type { ClientBase, Pool, PoolClient } from 'pg';
import { transaction, type Database } from '../db/pool.ts';
import { hasEnded, type DeploymentState } from '../domain/deployment.ts';
import type { Id } from '../domain/ids.ts';
import { withoutNul } from '../domain/text-tail.ts';
import { Problem } from '../domain/problem.ts';
import { lockAppRow } from './app-lock.ts';
import { acceptDeployment } from './acceptance.ts';
import { endDeployment, sameImage, targetColumns, type RollbackTarget } from './deployments.ts';
import { finishWork } from './work.ts';

/** The actor of deployments that the platform creates. */
const platformActor = 'svc';
/** Maximum length of a failure's reason when it is quoted in the history. */
const quoteMax = 300;

/** For this many of the newest successful revisions, environments are kept for rollbacks. */
const keptRevisions = 10;

/** The deployment that restores an app's last good revision. */
export interface AutomaticRollback {
  id: Id;
  revision: number;
  /** The revision that it restores. */
  to: number;
}

/** The result of ending a deployment. */
export interface End {
  /** False when it had already ended; nothing was written then. */
  ended: boolean;
  /** The automatic rollback; undefined without one. */
  rollback?: AutomaticRollback | undefined;
}

/** The fields of a deployment that decide whether its end causes a rollback. */
interface Ending {
  id: Id;
  workloadId: Id;
  revision: number;
  state: DeploymentState;
  automatic: boolean;
  /** Whether a worker has started its rollout, and may have written its release into the App. */
  started: boolean;
  /**
   * Whether the release of another deployment may have been written since the last good one: one that it superseded or
   * automatically rolls back.
   */
  followsApplied: boolean;
}

/**
 * Ends an active deployment as failed and, in the same transaction, accepts a rollback to the last revision that
 * succeeded before it. There is no rollback when the owner disabled it, when nothing was applied since that revision,
 * when the failed deployment was itself an automatic rollback, which prevents cycles, or when no earlier revision
 * succeeded. Does nothing when the deployment has already ended, such as by a newer one.
 * @param options.applied whether its release may be in the App
 * @param options.autoRollback whether automatic rollback is enabled
 */
export async function failDeployment(
  pool: Pool,
  id: Id,
  reason: string,
  { applied, autoRollback }: { applied: boolean; autoRollback: boolean },
): Promise<End> {
  return transaction(pool, async (client) => {
    const ending = await lockEnding(client, id);
    if (!ending || !(await endDeployment(client, id, 'failed', reason))) return { ended: false };
    const needsRollback = autoRollback && !ending.automatic && (applied || ending.followsApplied);
    const good = needsRollback ? await lastGood(client, ending) : undefined;
    if (!good) return { ended: true };
    const cause = `Automatic: revision ${ending.revision} failed: ${firstLine(reason)}`;
    return { ended: true, rollback: await rollBackTo(client, good, ending, { actor: platformActor, reason: cause }) };
  });
}

/**
 * Ends an active deployment as cancelled by a user. If its release may be in the App, it accepts a rollback to the last
 * good revision in the same transaction; the higher revision also wins over a worker that is about to write the
 * release.
 * @throws Problem `not_found`, `conflict` when it has already ended
 */
export async function cancelDeployment(pool: Pool, id: Id, actor: string): Promise<End> {
  return transaction(pool, async (client) => {
    const ending = await lockEnding(client, id);
    if (!ending) throw new Problem('not_found', 'There is no deployment with this id, or its app was deleted.');
    const applied = ending.state === 'rolling_out' || ending.started || ending.followsApplied;
    const good = applied ? await lastGood(client, ending) : undefined;
    const hint = applied && !good ? ' No earlier revision succeeded, so the app was not rolled back.' : '';
    if (!(await endDeployment(client, id, 'cancelled', `Cancelled by ${actor}.${hint}`))) {
      throw new Problem(
        'conflict',
        `Revision ${ending.revision} ${hasEnded(ending.state) ? `has already ended (${ending.state})` : 'is just ending'}; if the app runs it, roll back instead.`,
        { details: { revision: ending.revision, state: ending.state } },
      );
    }
    await finishWork(client, 'rollouts', [id]);
    if (!good) return { ended: true };
    const reason = `Automatic: ${actor} cancelled revision ${ending.revision}.`;
    return { ended: true, rollback: await rollBackTo(client, good, ending, { actor, reason }) };
  });
}

/**
 * The names of the environment Secrets that an app's history needs: those of the last ten revisions that succeeded, of
 * active deployments, and of the revisions that these restore.
 */
export async function neededEnvironments(database: Database, workloadId: Id): Promise<string[]> {
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
 * Reads the deployment and locks its app's row and its rollout's work row, so that no other transaction accepts or ends
 * a deployment of the app, and no worker gets this one.
 */
async function lockEnding(client: ClientBase, id: Id): Promise<Ending | undefined> {
  const app = await client.query<{ id: Id }>(`SELECT workload_id AS id FROM deployments WHERE id = $1`, [id]);
  if (!app.rows[0] || !(await lockAppRow(client, app.rows[0].id))) return undefined;
  await client.query(`SELECT FROM work WHERE kind = 'rollouts' AND record_id = $1 FOR UPDATE`, [id]);
  const { rows } = await client.query<Ending>(
    `SELECT id, workload_id AS "workloadId", revision, state, automatic, EXISTS (SELECT FROM work
       WHERE kind = 'rollouts' AND record_id = d.id AND attempt > 0) AS "started", EXISTS (
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
  // An automatic rollback counts as the revision that it restored.
  return good?.automatic && good.rollbackOf !== null ? { ...good, revision: good.rollbackOf } : good;
}

async function rollBackTo(
  client: PoolClient,
  good: RollbackTarget,
  { id, workloadId }: Ending,
  { actor, reason }: { actor: string; reason: string },
): Promise<AutomaticRollback> {
  const accepted = await acceptDeployment(client, {
    workloadId,
    trigger: 'rollback',
    ...sameImage(good),
    actor,
    rollbackOf: good.revision,
    // Restores the environment, because an invalid variable may be why the newer deployment failed.
    restores: 'environment',
    automatic: true,
    reason,
  });
  await client.query('UPDATE deployments SET rolled_back_to = $2 WHERE id = $1', [id, good.revision]);
  if (accepted.revision === null) throw new Error('accept_deployment returned no revision for the rollback');
  return { id: accepted.id, revision: accepted.revision, to: good.revision };
}

function firstLine(reason: string): string {
  const [line = ''] = withoutNul(reason).split('\n');
  return line.length > quoteMax ? `${line.slice(0, quoteMax)}…` : line;
}
