import type { ClientBase } from 'pg';
import type { OtherSettings, RevisionSettings } from '../contracts/resources/app-settings.ts';
import type { Database } from '../db/pool.ts';
import { hasEnded, type DeploymentState, type DeploymentTrigger } from '../domain/deployment.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import type { CommitDetails, NewDeployment, Restored } from './acceptance.ts';
import { lockAppRow } from './app-lock.ts';
import { endIfActive, type DeploymentEnd } from './deployment-completion.ts';
import { recordImage, type ImageState, type PushedImage } from './images.ts';
import { insertWork } from './work.ts';

/** One entry of an app's history (docs/reference/deployments.md#history). */
export interface Deployment {
  id: Id;
  workloadId: Id;
  namespace: string;
  project: string;
  environment: string;
  app: string;
  /** Null for a skipped deployment. */
  revision: number | null;
  trigger: DeploymentTrigger;
  state: DeploymentState;
  image: string;
  digest: string | null;
  commit: string | null;
  commitMessage: string | null;
  commitAuthor: string | null;
  branch: string | null;
  actor: string | null;
  rollbackOf: number | null;
  /** What a rollback restores besides the image. */
  restores: Restored | null;
  /** Whether the platform created it because another deployment failed or was cancelled. */
  automatic: boolean;
  /** For a failed or cancelled deployment: the revision of the automatic rollback. */
  rolledBackTo: number | null;
  /** Of a promotion: the environment that the image comes from, in the same project. */
  promotedFromEnvironment: string | null;
  promotedFromRevision: number | null;
  reason: string | null;
  /** Whether its image exists; null for an image that no build of the platform made. */
  imageState: ImageState | null;
  /** Whether it is the newest that succeeded, which the app runs. */
  current: boolean;
  acceptedAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
}

/** The columns of a {@link Deployment} in {@link deploymentSource}. */
export const deploymentColumns = `d.id, d.workload_id AS "workloadId", w.namespace, w.project, w.environment, w.name AS app, d.revision, d.trigger, d.state, d.image,
  d.digest, d.commit, d.commit_message AS "commitMessage", d.commit_author AS "commitAuthor", d.branch, d.actor,
  d.rollback_of AS "rollbackOf", d.restores, d.automatic, d.rolled_back_to AS "rolledBackTo",
  d.promoted_from_environment AS "promotedFromEnvironment", d.promoted_from_revision AS "promotedFromRevision", d.reason,
  d.accepted_at AS "acceptedAt", d.started_at AS "startedAt", d.ended_at AS "endedAt",
  (SELECT state FROM images WHERE images.id = d.image_id) AS "imageState",
  (d.state = 'succeeded' AND d.revision = (SELECT max(revision) FROM deployments
    WHERE workload_id = d.workload_id AND state = 'succeeded')) AS current`;

export const deploymentSource = `deployments d JOIN workloads w ON w.id = d.workload_id`;

/** Finds a deployment by id. */
export async function getDeployment(database: Database, id: Id): Promise<Deployment | undefined> {
  const { rows } = await database.query<Deployment>(
    `SELECT ${deploymentColumns} FROM ${deploymentSource} WHERE d.id = $1`,
    [id],
  );
  return rows[0];
}

/** An app's history, newest first: up to `limit` entries, older than the deployment `before`. */
export async function listDeployments(
  database: Database,
  workloadId: Id,
  { limit, before }: { limit: number; before?: Id | undefined },
): Promise<Deployment[]> {
  const { rows } = await database.query<Deployment>(
    `SELECT ${deploymentColumns} FROM ${deploymentSource} WHERE d.workload_id = $1 AND ($2::uuid IS NULL OR (d.accepted_at, d.id) <
       (SELECT accepted_at, id FROM deployments WHERE id = $2 AND workload_id = $1))
     ORDER BY d.accepted_at DESC, d.id DESC LIMIT $3`,
    [workloadId, before ?? null, limit],
  );
  return rows;
}

/** The newest deployments of an app that were accepted since a time, oldest first. */
export async function listDeploymentsSince(
  database: Database,
  workloadId: Id,
  since: Date,
  limit: number,
): Promise<Pick<Deployment, 'id' | 'revision' | 'state' | 'acceptedAt'>[]> {
  const { rows } = await database.query<Pick<Deployment, 'id' | 'revision' | 'state' | 'acceptedAt'>>(
    `SELECT id, revision, state, accepted_at AS "acceptedAt" FROM deployments
     WHERE workload_id = $1 AND accepted_at >= $2 ORDER BY accepted_at DESC, id DESC LIMIT $3`,
    [workloadId, since, limit],
  );
  return rows.toReversed();
}

/** The newest deployment of an app that succeeded; undefined before the first. */
export async function currentDeployment(database: Database, workloadId: Id): Promise<Deployment | undefined> {
  const { rows } = await database.query<Deployment>(
    `SELECT ${deploymentColumns} FROM ${deploymentSource} WHERE d.workload_id = $1 AND d.state = 'succeeded' ORDER BY d.revision DESC LIMIT 1`,
    [workloadId],
  );
  return rows[0];
}

/** The image of an earlier deployment, and its commit. */
export type Deployed = Pick<Deployment, 'image' | 'digest' | 'commit' | 'commitMessage' | 'commitAuthor' | 'branch'>;

const deployedColumns = `image, digest, commit, commit_message AS "commitMessage", commit_author AS "commitAuthor", branch`;

/** The fields of a new deployment of the same image. Pure. */
export function sameImage(deployed: Deployed): Pick<NewDeployment, 'image' | 'digest' | keyof CommitDetails> {
  const { image, digest, commit, commitMessage, commitAuthor, branch } = deployed;
  return {
    image,
    digest: digest ?? undefined,
    commit: commit ?? undefined,
    commitMessage: commitMessage ?? undefined,
    commitAuthor: commitAuthor ?? undefined,
    branch: branch ?? undefined,
  };
}

/** The revision that a rollback restores. */
export interface RollbackTarget extends Deployed {
  revision: number;
  /** The settings of that revision; null when an older version of the platform deployed it. */
  settings: RevisionSettings | null;
  envSecret: string | null;
}

/** The columns of a {@link RollbackTarget}. */
export const targetColumns = `revision, ${deployedColumns}, settings, env_secret AS "envSecret"`;

/**
 * The target of a rollback: the requested revision, which must have succeeded, or by default the last one that
 * succeeded before the app's newest deployment, whether that succeeded, failed or is rolling out. A deployment that
 * failed before its release was written, such as in its build, does not count as the newest. An automatic rollback
 * counts as the revision that it restored, and a restart as the one whose image it repeated.
 * @throws Problem `not_found` for an unknown revision, `conflict` for one that never succeeded, `no_earlier_revision`
 */
export async function rollbackTarget(database: Database, workloadId: Id, revision?: number): Promise<RollbackTarget> {
  if (revision !== undefined) {
    const { rows } = await database.query<RollbackTarget & { state: DeploymentState }>(
      `SELECT ${targetColumns}, state FROM deployments WHERE workload_id = $1 AND revision = $2`,
      [workloadId, revision],
    );
    if (!rows[0])
      throw new Problem('not_found', `The app has no revision ${revision}; its revisions are in its history.`);
    const { state, ...target } = rows[0];
    if (state === 'succeeded') return target;
    throw new Problem(
      'conflict',
      `Revision ${revision} ${hasEnded(state) ? `did not succeed (${state})` : 'has not ended yet'}; choose one that succeeded.`,
      { details: { revision, state } },
    );
  }
  const { rows } = await database.query<RollbackTarget>(
    `WITH RECURSIVE origin AS (
       (SELECT revision, image, trigger, CASE WHEN automatic AND state <> 'failed' THEN rollback_of END AS restored
        FROM deployments
        WHERE workload_id = $1 AND revision IS NOT NULL AND state NOT IN ('superseded', 'cancelled', 'skipped')
          AND NOT (state = 'failed' AND settings IS NULL)
        ORDER BY revision DESC LIMIT 1)
       UNION ALL
       SELECT earlier.revision, earlier.image, earlier.trigger, earlier.restored
       FROM origin CROSS JOIN LATERAL (
         SELECT revision, image, trigger, CASE WHEN automatic AND state <> 'failed' THEN rollback_of END AS restored
         FROM deployments
         WHERE workload_id = $1 AND (revision = origin.restored
           OR origin.trigger = 'restart' AND revision < origin.revision AND trigger <> 'restart' AND image = origin.image)
         ORDER BY revision DESC LIMIT 1) AS earlier
     )
     SELECT ${targetColumns} FROM deployments
     WHERE workload_id = $1 AND state = 'succeeded' AND revision < (SELECT min(revision) FROM origin)
     ORDER BY revision DESC LIMIT 1`,
    [workloadId],
  );
  if (rows[0]) return rows[0];
  throw new Problem('no_earlier_revision', 'The app has no earlier revision that succeeded; deploy an image instead.');
}

/**
 * The deployment that a restart repeats: the newest one that was neither superseded nor cancelled. A failed one counts,
 * because a missing variable may be the cause, unless it was rolled back automatically; then the rollback counts. Locks
 * the app's row, so that it stays the newest until the caller's transaction ends.
 * @throws Problem `not_ready` before the first
 */
export async function restartTarget(client: ClientBase, workloadId: Id): Promise<Deployed> {
  await lockAppRow(client, workloadId);
  const { rows } = await client.query<Deployed>(
    `SELECT ${deployedColumns} FROM deployments
     WHERE workload_id = $1 AND revision IS NOT NULL AND image <> ''
       AND state NOT IN ('superseded', 'cancelled', 'skipped')
     ORDER BY revision DESC LIMIT 1`,
    [workloadId],
  );
  if (rows[0]) return rows[0];
  throw new Problem(
    'not_ready',
    'The app has no deployment yet. Its first deployment uses the current variables and secrets.',
  );
}

/**
 * accepted → building.
 * @returns false when it was no longer accepted
 */
export async function startBuild(database: Database, id: Id): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE deployments SET state = 'building', started_at = COALESCE(started_at, clock_timestamp()) WHERE id = $1 AND state = 'accepted'`,
    [id],
  );
  return rowCount === 1;
}

/** The result of a build. `sizeBytes` is what the image takes as an archive. */
export interface BuiltImage extends PushedImage {
  /** Undefined for an uploaded folder. */
  commit?: string | undefined;
  /** The message of the commit, from git. */
  commitMessage?: string | undefined;
  commitAuthor?: string | undefined;
}

/**
 * Sets the built image of a deployment, records it as stored, and inserts the rollout's work row, in the caller's transaction. Existing
 * details of the commit are kept.
 * @returns false, without writing, when the deployment was no longer building
 */
export async function deployBuilt(client: ClientBase, id: Id, built: BuiltImage): Promise<boolean> {
  const { image, digest, commit, commitMessage, commitAuthor } = built;
  const imageId = await recordImage(client, id, built);
  const { rowCount } = await client.query(
    `UPDATE deployments SET image = $2, digest = $3, image_id = $7, commit = COALESCE($4, commit), built_at = clock_timestamp(),
       commit_message = COALESCE(commit_message, NULLIF($5, '')), commit_author = COALESCE(commit_author, NULLIF($6, ''))
     WHERE id = $1 AND state = 'building' AND built_at IS NULL`,
    [id, image, digest, commit ?? null, commitMessage ?? null, commitAuthor ?? null, imageId ?? null],
  );
  if (rowCount === 1) await insertWork(client, 'rollouts', id);
  return rowCount === 1;
}

/** What is stored with each revision of an app. */
export interface Applied {
  settings: RevisionSettings;
  otherSettings?: OtherSettings;
  /** The name of the environment Secret of its pods. */
  envSecret: string | undefined;
}

/**
 * accepted or building → rolling_out, with the settings of its release.
 * @returns false when it was in neither state
 */
export async function startDeployment(database: Database, id: Id, applied?: Applied): Promise<boolean> {
  const { rowCount } = await database.query({
    name: 'start-deployment',
    text: `UPDATE deployments SET state = 'rolling_out', started_at = COALESCE(started_at, clock_timestamp()),
       settings = $2, env_secret = $3, other_settings = $4
     WHERE id = $1 AND state IN ('accepted', 'building')`,
    values: [
      id,
      applied ? JSON.stringify(applied.settings) : null,
      applied?.envSecret ?? null,
      applied?.otherSettings ? JSON.stringify(applied.otherSettings) : null,
    ],
  });
  return rowCount === 1;
}

/**
 * rolling_out → succeeded.
 * @param digest of the image that its pods run, if it is known
 * @returns false when it was not rolling out
 */
export async function succeedDeployment(database: Database, id: Id, digest?: string): Promise<boolean> {
  const end = { state: 'succeeded', ...(digest !== undefined && { digest }) } as const;
  return endIfActive(database, id, end, ['rolling_out']);
}

/**
 * Any active state → an end state, with a reason for users.
 * @returns false when it had already ended
 */
export async function endDeployment(
  database: Database,
  id: Id,
  state: Exclude<DeploymentEnd['state'], 'succeeded'>,
  reason: string,
): Promise<boolean> {
  return endIfActive(database, id, { state, reason });
}
