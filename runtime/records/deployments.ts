import pg, { type ClientBase } from 'pg';
import type { RevisionSettings } from '../contracts/resources/app-settings.ts';
import type { Database } from '../db/pool.ts';
import { hasEnded, type DeploymentState, type DeploymentTrigger } from '../domain/deployment.ts';
import { newId, type Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import type { QueueName } from '../queues/catalogue.ts';
import { holdApp } from './app-lock.ts';
import { recordEnd, type DeploymentEnd } from './deployment-ends.ts';
import { invalidWebhookToken, type WebhookProof } from './webhooks.ts';
import { insertWork } from './work.ts';

/**
 * What a rollback brings back beside the image: `environment` what the pods of that revision had in theirs, `config` that
 * and the app's settings of that time.
 */
export type Restored = 'environment' | 'config';

/** One entry of an app's history (spec.md §2.4). */
export interface Deployment {
  id: Id;
  workloadId: Id;
  namespace: string;
  project: string;
  environment: string;
  app: string;
  /** Null for one that was skipped. */
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
  /** What a rollback brings back beside the image. */
  restores: Restored | null;
  /** Whether the platform made it because another deployment failed or was cancelled. */
  automatic: boolean;
  /** Of one that failed or was cancelled: the revision to which the app went back because of that. */
  rolledBackTo: number | null;
  /** Of a promotion: where the image ran before, in the same project. */
  promotedFromEnvironment: string | null;
  promotedFromRevision: number | null;
  reason: string | null;
  /** Whether it is the newest that succeeded: what the app runs. */
  current: boolean;
  acceptedAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
}

/** The columns of a {@link Deployment}, of {@link deploymentSource}. */
export const deploymentColumns = `d.id, d.workload_id AS "workloadId", w.namespace, w.project, w.environment, w.name AS app, d.revision, d.trigger, d.state, d.image,
  d.digest, d.commit, d.commit_message AS "commitMessage", d.commit_author AS "commitAuthor", d.branch, d.actor,
  d.rollback_of AS "rollbackOf", d.restores, d.automatic, d.rolled_back_to AS "rolledBackTo",
  d.promoted_from_environment AS "promotedFromEnvironment", d.promoted_from_revision AS "promotedFromRevision", d.reason,
  d.accepted_at AS "acceptedAt", d.started_at AS "startedAt", d.ended_at AS "endedAt",
  (d.state = 'succeeded' AND d.revision = (SELECT max(revision) FROM deployments
    WHERE workload_id = d.workload_id AND state = 'succeeded')) AS current`;

export const deploymentSource = `deployments d JOIN workloads w ON w.id = d.workload_id`;

/** What is told about the commit that a deployment is made of. */
export interface CommitDetails {
  commit?: string | undefined;
  commitMessage?: string | undefined;
  commitAuthor?: string | undefined;
  branch?: string | undefined;
}

export interface NewDeployment extends CommitDetails {
  workloadId: Id;
  trigger: DeploymentTrigger;
  /** None for one whose image is built first: its `image` is '' until then. */
  image?: string | undefined;
  digest?: string | undefined;
  /** Who did it, such as a person's address. */
  actor?: string | undefined;
  /** The revision whose image a rollback brings back. */
  rollbackOf?: number | undefined;
  restores?: Restored | undefined;
  /** Where a promotion takes the image from, in the same project. */
  promotedFrom?: { environment: string; revision: number } | undefined;
  /** Made by the platform because another deployment failed or was cancelled, which `reason` tells. */
  automatic?: boolean | undefined;
  /** Why it was made; replaced by the reason of its end when there is one. */
  reason?: string | undefined;
  /** One acceptance per key and app: the same key answers with the first deployment and makes none. */
  dedupKey?: string | undefined;
  /** Only as the app's first: an app that has any deployment answers with its newest. */
  onlyFirst?: boolean | undefined;
  /** What a sender has proved, which has to count still when the deployment is accepted. */
  proof?: WebhookProof | undefined;
}

/** Something that could have been deployed and was not: recorded without a revision. */
export type SkippedDeployment = CommitDetails &
  Pick<NewDeployment, 'workloadId' | 'trigger' | 'image' | 'actor' | 'dedupKey' | 'proof'> & {
    /** Why, for people. */
    reason: string;
  };

export interface Acceptance {
  id: Id;
  /** Null for one that was skipped, which only `dedupKey` finds. */
  revision: number | null;
  state: DeploymentState;
  /** False when `dedupKey` or `onlyFirst` found an earlier one. */
  created: boolean;
}

/** A refusal of `accept_deployment`, by its message (migration 0024). */
const refusals: Readonly<Record<string, () => Problem>> = {
  not_ready: () => new Problem('not_ready', 'The app is still being set up; try again in a few seconds.'),
  not_found: () => new Problem('not_found', 'The app was deleted.'),
  invalid_webhook_token: invalidWebhookToken,
};

/** What `accept_deployment` takes: the app's id, and what is asked for. */
export function acceptanceArguments(request: NewDeployment | SkippedDeployment, skipped: boolean): [Id, string] {
  const { workloadId, proof, ...asked } = request;
  const queue: QueueName = request.image === undefined ? 'builds' : 'rollouts';
  const given = {
    ...{ ...asked, id: newId(), workId: newId(), queue },
    ...(proof && { proof: 'version' in proof ? proof : { url: proof.urlSecretHash.toString('hex') } }),
    ...(skipped && { skipped }),
  };
  // Cutting a text can leave half of a character, which `jsonb` refuses.
  const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value);
  return [workloadId, JSON.stringify(given, wellFormed)];
}

/** An acceptance, and the deployments that it superseded: to be told by {@link announce}. */
export type Unannounced<T extends Acceptance = Acceptance> = T & { superseded: Id[] };

/**
 * Tells whoever waits for work or for the end of one of these deployments: at the commit, where the caller has a
 * transaction. Hints only; who misses them looks by himself before long.
 */
export async function announce(database: Database, superseded: readonly Id[]): Promise<void> {
  await database.query({
    name: 'announce-acceptance',
    text: `SELECT pg_notify('work', '') UNION ALL SELECT pg_notify('deployment_ends', id) FROM unnest($1::text[]) AS id`,
    values: [superseded],
  });
}

/** Runs a statement with calls of `accept_deployment`, which are to be announced. @throws Problem as {@link acceptDeployment} does */
export async function runAcceptances<T extends pg.QueryResultRow>(
  database: Database,
  statement: pg.QueryConfig<unknown[]>,
): Promise<T[]> {
  try {
    const { rows } = await database.query<T>(statement);
    return rows;
  } catch (error) {
    const refusal = error instanceof pg.DatabaseError && error.code === 'SV000' ? refusals[error.message] : undefined;
    throw refusal?.() ?? error;
  }
}

async function take(
  database: Database,
  request: NewDeployment | SkippedDeployment,
  skipped: boolean,
): Promise<Acceptance> {
  const [accepted] = await runAcceptances<Unannounced>(database, {
    name: 'accept-deployment',
    text: 'SELECT * FROM accept_deployment($1, $2)',
    values: acceptanceArguments(request, skipped),
  });
  if (!accepted) throw new Error('an acceptance has one row');
  const { superseded, ...acceptance } = accepted;
  if (acceptance.created && !skipped) await announce(database, superseded);
  return acceptance;
}

/**
 * Accepts a deployment, in the caller's transaction if there is one: takes the app's next revision under its row lock,
 * writes record and work, and supersedes the app's deployments that have not ended.
 * @throws Problem `not_found` (the app was deleted), `not_ready` (it is not projected yet), `invalid_webhook_token` (what
 * was proved counts no more)
 */
export function acceptDeployment(database: Database, request: NewDeployment): Promise<Acceptance> {
  return take(database, request, false);
}

/**
 * Records that something was not deployed: an entry of the history that takes no revision, supersedes nothing and has
 * ended. @throws as {@link acceptDeployment} does
 */
export function skipDeployment(database: Database, request: SkippedDeployment): Promise<Acceptance> {
  return take(database, request, true);
}

/** A deployment by its id. */
export async function getDeployment(database: Database, id: Id): Promise<Deployment | undefined> {
  const { rows } = await database.query<Deployment>(
    `SELECT ${deploymentColumns} FROM ${deploymentSource} WHERE d.id = $1`,
    [id],
  );
  return rows[0];
}

/** An app's history, newest first: up to `limit` entries, those before the deployment `before`. */
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

/** What an app runs: its newest deployment that succeeded. Undefined before the first. */
export async function currentDeployment(database: Database, workloadId: Id): Promise<Deployment | undefined> {
  const { rows } = await database.query<Deployment>(
    `SELECT ${deploymentColumns} FROM ${deploymentSource} WHERE d.workload_id = $1 AND d.state = 'succeeded' ORDER BY d.revision DESC LIMIT 1`,
    [workloadId],
  );
  return rows[0];
}

/** What an earlier deployment deployed: its image, and what is known of the commit. */
export type Deployed = Pick<Deployment, 'image' | 'digest' | 'commit' | 'commitMessage' | 'commitAuthor' | 'branch'>;

const deployedColumns = `image, digest, commit, commit_message AS "commitMessage", commit_author AS "commitAuthor", branch`;

/** What a new deployment of the same image takes over. Pure. */
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

/** What a rollback brings back. */
export interface RollbackTarget extends Deployed {
  revision: number;
  /** The settings of its time; null for one that an older version of the platform deployed. */
  settings: RevisionSettings | null;
  envSecret: string | null;
}

/** The columns of a {@link RollbackTarget}. */
export const targetColumns = `revision, ${deployedColumns}, settings, env_secret AS "envSecret"`;

/**
 * Where a rollback of the app leads: to the revision that was asked for, which must have succeeded once, or else to the
 * last one that succeeded before the app's newest deployment, whether that succeeded, failed or still rolls out; one that
 * failed before its release was written, such as in its build, left what ran before. An automatic return counts as the
 * revision that it brought back.
 * @throws Problem `not_found` for a revision that there is not, `conflict` for one that never succeeded,
 * `no_earlier_revision`
 */
export async function rollbackTarget(database: Database, workloadId: Id, revision?: number): Promise<RollbackTarget> {
  if (revision !== undefined) {
    const { rows } = await database.query<RollbackTarget & { state: DeploymentState }>(
      `SELECT ${targetColumns}, state FROM deployments WHERE workload_id = $1 AND revision = $2`,
      [workloadId, revision],
    );
    if (!rows[0]) throw new Problem('not_found', `The app has no revision ${revision}; its history lists them.`);
    const { state, ...target } = rows[0];
    if (state === 'succeeded') return target;
    throw new Problem(
      'conflict',
      `Revision ${revision} ${hasEnded(state) ? `never ran (it is ${state})` : 'has not ended yet'}; choose one that succeeded.`,
      { details: { revision, state } },
    );
  }
  const { rows } = await database.query<RollbackTarget>(
    `SELECT ${targetColumns} FROM deployments
     WHERE workload_id = $1 AND state = 'succeeded' AND revision < (
       SELECT CASE WHEN automatic AND state <> 'failed' THEN rollback_of ELSE revision END AS runs
       FROM deployments newest
       WHERE workload_id = $1 AND revision IS NOT NULL AND state NOT IN ('superseded', 'cancelled', 'skipped')
         AND NOT (state = 'failed' AND settings IS NULL)
       ORDER BY newest.revision DESC LIMIT 1)
     ORDER BY revision DESC LIMIT 1`,
    [workloadId],
  );
  if (rows[0]) return rows[0];
  throw new Problem('no_earlier_revision', 'The app has no earlier revision that succeeded; deploy an image instead.');
}

/**
 * What a restart of the app deploys again: the newest deployment that was neither superseded nor cancelled. One that
 * failed counts, since a missing variable may be why, unless the app went back from it: then it is what that brought back.
 * Holds the app's row, so that it stays the newest until the caller's transaction ends. @throws Problem `not_ready` before the first
 */
export async function restartTarget(client: ClientBase, workloadId: Id): Promise<Deployed> {
  await holdApp(client, workloadId);
  const { rows } = await client.query<Deployed>(
    `SELECT ${deployedColumns} FROM deployments
     WHERE workload_id = $1 AND revision IS NOT NULL AND image <> ''
       AND state NOT IN ('superseded', 'cancelled', 'skipped')
     ORDER BY revision DESC LIMIT 1`,
    [workloadId],
  );
  if (rows[0]) return rows[0];
  throw new Problem('not_ready', 'The app has no deployment yet; its first one has the variables and secrets of now.');
}

/** accepted → building; false when it was not accepted any more. */
export async function startBuild(database: Database, id: Id): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE deployments SET state = 'building', started_at = COALESCE(started_at, clock_timestamp()) WHERE id = $1 AND state = 'accepted'`,
    [id],
  );
  return rowCount === 1;
}

/** What a build made. */
export interface BuiltImage {
  image: string;
  digest: string;
  commit: string;
  /** What git says of the commit. */
  commitMessage?: string | undefined;
  commitAuthor?: string | undefined;
}

/**
 * Gives a deployment the image that was built for it, with the work that rolls it out, in the caller's transaction; false,
 * and nothing is written, when it was not building any more. What was told of the commit before stays.
 */
export async function deployBuilt(client: ClientBase, id: Id, built: BuiltImage): Promise<boolean> {
  const { image, digest, commit, commitMessage, commitAuthor } = built;
  const { rowCount } = await client.query(
    `UPDATE deployments SET image = $2, digest = $3, commit = $4, built_at = clock_timestamp(),
       commit_message = COALESCE(commit_message, NULLIF($5, '')), commit_author = COALESCE(commit_author, NULLIF($6, ''))
     WHERE id = $1 AND state = 'building' AND built_at IS NULL`,
    [id, image, digest, commit, commitMessage ?? null, commitAuthor ?? null],
  );
  if (rowCount === 1) await insertWork(client, 'rollouts', id);
  return rowCount === 1;
}

/** What is kept of the app with each of its revisions. */
export interface Applied {
  settings: RevisionSettings;
  /** The name of the Secret with the environment of its pods. */
  envSecret: string | undefined;
}

/** accepted or building → rolling_out, with what its release was applied with; false when it is neither any more. */
export async function startDeployment(database: Database, id: Id, applied?: Applied): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE deployments SET state = 'rolling_out', started_at = COALESCE(started_at, clock_timestamp()),
       settings = $2, env_secret = $3
     WHERE id = $1 AND state IN ('accepted', 'building')`,
    [id, applied ? JSON.stringify(applied.settings) : null, applied?.envSecret ?? null],
  );
  return rowCount === 1;
}

/**
 * rolling_out → succeeded; false when it was not rolling out any more.
 * @param digest of the image that its pods run, where it is known
 */
export async function succeedDeployment(database: Database, id: Id, digest?: string): Promise<boolean> {
  const end = { state: 'succeeded', ...(digest !== undefined && { digest }) } as const;
  return recordEnd(database, id, end, ['rolling_out']);
}

/** Any active state → an end with a reason that a person understands; false when it had ended already. */
export async function endDeployment(
  database: Database,
  id: Id,
  state: Exclude<DeploymentEnd['state'], 'succeeded'>,
  reason: string,
): Promise<boolean> {
  return recordEnd(database, id, { state, reason });
}
