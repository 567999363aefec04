import type { ClientBase, Pool, PoolClient } from 'pg';
import { transaction, type Database } from '../db/pool.ts';
import type { GitSource } from '../domain/git-source.ts';
import { isSameCommit } from '../domain/git-source.ts';
import type { Id } from '../domain/ids.ts';
import { holdApp } from './app-lock.ts';
import { acceptDeployment, type Acceptance } from './deployments.ts';
import { finishWork, hastenWork, renewWork } from './work.ts';

/** What polling an app's git source has brought. */
export interface GitSourceState extends GitSource {
  workloadId: Id;
  namespace: string;
  name: string;
  /** The branch's newest commit that was seen. */
  commit: string | null;
  polledAt: Date | null;
  /** Why the last poll failed. */
  error: string | null;
  /** Polls in a row that failed. */
  failures: number;
  /** When this was read, by the database's clock. */
  readAt: Date;
}

/**
 * Writes an app's git source as its object is now; what is not there any more is polled no longer. One that changed is
 * polled at once, as if it had never been. Repeating it is free; of an app that is not projected yet nothing is written.
 */
export async function projectGitSource(pool: Pool, workloadId: Id, source: GitSource | undefined): Promise<void> {
  const values = [workloadId, source?.url, source?.branch, source?.path ?? null, source?.dockerfile ?? null];
  const { rowCount } = await pool.query(
    `SELECT 1 FROM git_sources WHERE workload_id = $1 AND ($2::text IS NULL OR (url = $2 AND branch = $3 AND
       path IS NOT DISTINCT FROM $4 AND dockerfile IS NOT DISTINCT FROM $5))`,
    values,
  );
  if ((rowCount === 1) === (source !== undefined)) return;
  await transaction(pool, async (client) => {
    if (!source) {
      await client.query(`DELETE FROM git_sources WHERE workload_id = $1`, [workloadId]);
      await finishWork(client, 'polling', [workloadId]);
      return;
    }
    const written = await client.query(
      `INSERT INTO git_sources (workload_id, url, branch, path, dockerfile)
       SELECT id, $2, $3, $4, $5 FROM workloads WHERE id = $1
       ON CONFLICT (workload_id) DO UPDATE SET url = $2, branch = $3, path = $4, dockerfile = $5, commit = NULL,
         polled_at = NULL, error = NULL, failures = 0`,
      values,
    );
    if (written.rowCount === 1) await renewWork(client, 'polling', workloadId);
  });
}

const columns = `s.workload_id AS "workloadId", w.namespace, w.name, s.url, s.branch, s.path, s.dockerfile, s.commit,
  s.polled_at AS "polledAt", s.error, s.failures, clock_timestamp() AS "readAt"`;

/** The git source of a living app; undefined when it has none, or its controller has not seen it yet. */
export async function findGitSource(database: Database, workloadId: Id): Promise<GitSourceState | undefined> {
  const { rows } = await database.query<GitSourceState>(
    `SELECT ${columns} FROM git_sources s JOIN workloads w ON w.id = s.workload_id
     WHERE s.workload_id = $1 AND w.deleted_at IS NULL`,
    [workloadId],
  );
  const row = rows[0];
  return row && { ...row, path: row.path ?? undefined, dockerfile: row.dockerfile ?? undefined };
}

/** Has the source of an app polled now. */
export async function hastenPoll(database: Database, workloadId: Id): Promise<void> {
  await hastenWork(database, 'polling', [workloadId]);
}

/** Records that a poll failed. */
export async function recordPollFailure(database: Database, workloadId: Id, error: string): Promise<void> {
  await database.query(
    `UPDATE git_sources SET polled_at = now(), error = $2, failures = failures + 1 WHERE workload_id = $1`,
    [workloadId, error],
  );
}

/** What became of a poll that found the tip of the branch. */
export type PollOutcome = { deployed: Acceptance } | 'unchanged' | 'overtaken';

/**
 * Records the tip of a source's branch and deploys it, unless it was seen before or is what was last deployed: a webhook
 * may have been faster. What was accepted while the poll was under way may be newer than what it saw; then nothing is
 * recorded, and it is to be polled again.
 * @param since when the poll began, by the database's clock
 */
export async function recordTip(
  pool: Pool,
  { workloadId, url, branch }: Pick<GitSourceState, 'workloadId' | 'url' | 'branch'>,
  commit: string,
  since: Date,
): Promise<PollOutcome> {
  return transaction(pool, async (client: PoolClient) => {
    await holdApp(client, workloadId);
    const { rows } = await client.query<{ before: string | null }>(
      `SELECT commit AS before FROM git_sources WHERE workload_id = $1 AND url = $2 AND branch = $3 FOR UPDATE`,
      [workloadId, url, branch],
    );
    const known = rows[0];
    // Removed or changed meanwhile: whoever did so has it polled anew.
    if (!known) return 'overtaken';
    const newest = await newestCommit(client, workloadId);
    if (newest && newest.acceptedAt > since) return 'overtaken';
    await client.query(
      `UPDATE git_sources SET commit = $2, polled_at = now(), error = NULL, failures = 0 WHERE workload_id = $1`,
      [workloadId, commit],
    );
    if (known.before === commit) return 'unchanged';
    // A source that was just set is built whatever ran before.
    const runs = known.before !== null && newest?.commit && isSameCommit(newest.commit, commit);
    if (runs) return 'unchanged';
    return { deployed: await acceptDeployment(client, { workloadId, trigger: 'git', commit, branch }) };
  });
}

async function newestCommit(
  client: ClientBase,
  workloadId: Id,
): Promise<{ commit: string | null; acceptedAt: Date } | undefined> {
  const { rows } = await client.query<{ commit: string | null; acceptedAt: Date }>(
    `SELECT commit, accepted_at AS "acceptedAt" FROM deployments
     WHERE workload_id = $1 AND revision IS NOT NULL AND state NOT IN ('superseded', 'cancelled')
     ORDER BY revision DESC LIMIT 1`,
    [workloadId],
  );
  return rows[0];
}
