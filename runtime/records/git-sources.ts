import type { Pool, PoolClient } from 'pg';
import { transaction, type Database } from '../db/pool.ts';
import { hostOfGit, type GitProblem, type GitSource } from '../domain/git-source.ts';
import type { Id } from '../domain/ids.ts';
import { lockAppRow } from './app-lock.ts';
import { acceptDeployment, type Acceptance } from './acceptance.ts';
import { finishWork, expediteWork, renewWork } from './work.ts';

/** The state of polling an app's git source. `hostKeys` are those accepted from its server at the first poll. */
export interface GitSourceState extends GitSource {
  workloadId: Id;
  project: string;
  namespace: string;
  name: string;
  /** Another one after each change of the source, its credentials or host keys: the result of a poll counts for one version. */
  version: Id;
  /** The newest commit of the branch at the last poll. */
  commit: string | null;
  polledAt: Date | null;
  /** Why the last poll failed. */
  error: string | null;
  problem: GitProblem | null;
  /** Consecutive failed polls. */
  failures: number;
  /** The database's time of this read. */
  readAt: Date;
}

/** Which of these apps have a git source; undefined for the others. */
export async function findPolled(database: Database, workloadIds: readonly Id[]): Promise<(true | undefined)[]> {
  const { rows } = await database.query<{ id: Id }>(
    `SELECT workload_id AS id FROM git_sources WHERE workload_id = ANY ($1)`,
    [workloadIds],
  );
  const polled = new Set(rows.map(({ id }) => id));
  return workloadIds.map((id) => polled.has(id) || undefined);
}

/** What a change of a source sets: nothing is known of a poll of the new version. */
const newVersion = `version = gen_random_uuid(), polled_at = NULL, error = NULL, problem = NULL, failures = 0`;

/**
 * Writes an app's git source from its object. A removed source is no longer polled; a changed one is polled
 * immediately, as a new one. Idempotent. Writes nothing for an app that is not projected yet.
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
         seen_at = NULL, ${newVersion}`,
      values,
    );
    if (written.rowCount === 1) await renewWork(client, 'polling', workloadId);
  });
}

const columns = `s.workload_id AS "workloadId", w.project, w.namespace, w.name, s.url, s.branch, s.path, s.dockerfile, s.version,
  s.commit, s.polled_at AS "polledAt", s.error, s.problem, s.failures, s.server, s.host_keys AS "hostKeys", clock_timestamp() AS "readAt"`;

/** The git source of an existing app; undefined without one, or before its controller projected it. */
export async function findGitSource(database: Database, workloadId: Id): Promise<GitSourceState | undefined> {
  const { rows } = await database.query<GitSourceState & { server: string | null; hostKeys: string[] | null }>(
    `SELECT ${columns} FROM git_sources s JOIN workloads w ON w.id = s.workload_id
     WHERE s.workload_id = $1 AND w.deleted_at IS NULL`,
    [workloadId],
  );
  if (!rows[0]) return undefined;
  const { server, hostKeys, ...row } = rows[0];
  return {
    ...row,
    path: row.path ?? undefined,
    dockerfile: row.dockerfile ?? undefined,
    // Keys of another server do not apply.
    hostKeys: (server === hostOfGit(row.url) && hostKeys) || undefined,
  };
}

/**
 * Stores the host keys that a source's server presented, unless some are stored: only the first ones are trusted. Those that a
 * poll of an earlier version saw are not stored.
 */
export async function keepHostKeys(
  database: Database,
  { workloadId, version, url }: Pick<GitSourceState, 'workloadId' | 'version' | 'url'>,
  hostKeys: readonly string[],
): Promise<void> {
  await database.query(
    `UPDATE git_sources SET server = $2, host_keys = $3
     WHERE workload_id = $1 AND version = $4 AND (host_keys IS NULL OR server <> $2)`,
    [workloadId, hostOfGit(url), hostKeys, version],
  );
}

/**
 * Begins a new version of a source, whose credentials or host keys may have changed, and makes its next poll due now. The
 * result of a poll that is running is not recorded.
 * @param options.forgetHostKeys also deletes the stored host keys, so that those which the server presents next are trusted
 */
export async function renewGitSource(
  pool: Pool,
  workloadId: Id,
  { forgetHostKeys = false }: { forgetHostKeys?: boolean } = {},
): Promise<void> {
  await transaction(pool, async (client) => {
    await client.query(
      `UPDATE git_sources SET ${newVersion}${forgetHostKeys ? ', server = NULL, host_keys = NULL' : ''} WHERE workload_id = $1`,
      [workloadId],
    );
    await expeditePoll(client, workloadId);
  });
}

/** Makes the next poll of an app's source due now. */
export async function expeditePoll(database: Database, workloadId: Id): Promise<void> {
  await expediteWork(database, 'polling', [workloadId]);
}

/** Records that a poll failed, unless the source has another version by now. */
export async function recordPollFailure(
  database: Database,
  { workloadId, version }: Pick<GitSourceState, 'workloadId' | 'version'>,
  { error, problem }: { error: string; problem: GitProblem },
): Promise<void> {
  await database.query(
    `UPDATE git_sources SET polled_at = now(), error = $3, problem = $4, failures = failures + 1
     WHERE workload_id = $1 AND version = $2`,
    [workloadId, version, error, problem],
  );
}

/**
 * The result of a poll that found the branch. `overtaken`: the source was changed or a deployment accepted during the
 * poll.
 */
export type PollOutcome = { deployed: Acceptance } | 'unchanged' | 'overtaken';

/**
 * Records the commit of a source's branch and deploys it, unless the last poll saw it, or the history has contained it
 * since: a webhook may have been faster, and a deployment that was skipped, cancelled or rolled back is not repeated.
 * If a deployment was accepted during the poll, it may be newer than the commit; then nothing is recorded, and the
 * source has to be polled again.
 * @param since when the poll began, by the database's clock
 */
export async function recordTip(
  pool: Pool,
  { workloadId, version, branch }: Pick<GitSourceState, 'workloadId' | 'version' | 'branch'>,
  commit: string,
  since: Date,
): Promise<PollOutcome> {
  return transaction(pool, async (client: PoolClient) => {
    await lockAppRow(client, workloadId);
    const { rows } = await client.query<{ before: string | null; overtaken: boolean; handled: boolean }>(
      `SELECT s.commit AS before,
         EXISTS (SELECT FROM deployments WHERE workload_id = $1 AND accepted_at > $4) AS overtaken,
         EXISTS (SELECT FROM deployments WHERE workload_id = $1 AND starts_with($3, commit) AND length(commit) >= 7
           AND (accepted_at > s.seen_at OR id = (
             SELECT id FROM deployments WHERE workload_id = $1 AND trigger IN ('webhook', 'git', 'manual')
             ORDER BY accepted_at DESC, id DESC LIMIT 1))) AS handled
       FROM git_sources s WHERE workload_id = $1 AND version = $2 FOR UPDATE`,
      [workloadId, version, commit, since],
    );
    const state = rows[0];
    // The source was removed or changed, which schedules another poll.
    if (!state || state.overtaken) return 'overtaken';
    await client.query(
      `UPDATE git_sources SET commit = $2, seen_at = $3, polled_at = now(), error = NULL, problem = NULL,
         failures = 0 WHERE workload_id = $1`,
      [workloadId, commit, since],
    );
    if (state.before === commit) return 'unchanged';
    // A new source is always built.
    if (state.before !== null && state.handled) return 'unchanged';
    return { deployed: await acceptDeployment(client, { workloadId, trigger: 'git', commit, branch }) };
  });
}
