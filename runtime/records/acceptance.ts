import pg from 'pg';
import type { Database } from '../db/pool.ts';
import type { DeploymentState, DeploymentTrigger } from '../domain/deployment.ts';
import { newId, type Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import type { QueueName } from '../queues/catalogue.ts';
import { imageDeleted } from './images.ts';
import { invalidWebhookToken, type WebhookProof } from './webhooks.ts';

/**
 * What a rollback restores besides the image: `environment` the environment of that revision's pods, `config` that and the
 * app's settings at the time.
 */
export type Restored = 'environment' | 'config';

/** What is known about the commit that a deployment is built from. */
export interface CommitDetails {
  commit?: string | undefined;
  commitMessage?: string | undefined;
  commitAuthor?: string | undefined;
  branch?: string | undefined;
}

/** A deployment to accept. */
export interface NewDeployment extends CommitDetails {
  workloadId: Id;
  trigger: DeploymentTrigger;
  /** Undefined when the image is built first. */
  image?: string | undefined;
  digest?: string | undefined;
  /** Who requested it, such as a user's email address. */
  actor?: string | undefined;
  /** The revision that a rollback goes back to. */
  rollbackOf?: number | undefined;
  restores?: Restored | undefined;
  /** The environment of the same project, and the revision there, that a promotion takes the image from. */
  promotedFrom?: { environment: string; revision: number } | undefined;
  /** Whether the platform creates it because another deployment failed or was cancelled; `reason` says why. */
  automatic?: boolean | undefined;
  /** Why it is created, for people. The reason of its end replaces it. */
  reason?: string | undefined;
  /** Makes repeated acceptances for one app return the first deployment with this key. */
  dedupKey?: string | undefined;
  /** Accepts it only as the app's first: otherwise the app's newest deployment is returned. */
  onlyFirst?: boolean | undefined;
  /** What the sender proved; checked again when the deployment is accepted. */
  proof?: WebhookProof | undefined;
  /** Only records it in the history, as skipped for `reason`: it takes no revision and supersedes nothing. */
  skipped?: boolean | undefined;
}

export interface Acceptance {
  id: Id;
  /** Null for a skipped deployment. */
  revision: number | null;
  state: DeploymentState;
  /** False when `dedupKey` or `onlyFirst` found an earlier deployment. */
  created: boolean;
}

/** An acceptance with the deployments that it superseded, which the caller passes to {@link announce}. */
export type Unannounced<T extends Acceptance = Acceptance> = T & { superseded: Id[] };

/** The arguments of the SQL function `accept_deployment`, with their types. */
export const acceptanceArguments = {
  app: 'uuid',
  deployment_id: 'uuid',
  work_id: 'uuid',
  queue: 'text',
  trigger: 'text',
  image: 'text',
  digest: 'text',
  commit: 'text',
  commit_message: 'text',
  commit_author: 'text',
  branch: 'text',
  actor: 'text',
  rollback_of: 'integer',
  restores: 'text',
  automatic: 'boolean',
  promoted_from_environment: 'text',
  promoted_from_revision: 'integer',
  reason: 'text',
  dedup_key: 'text',
  only_first: 'boolean',
  skipped: 'boolean',
  proof_version: 'integer',
  proof_url_hash: 'bytea',
} as const;

type ArgumentName = keyof typeof acceptanceArguments;
// The keys of an object literal.
export const acceptanceArgumentNames = Object.keys(acceptanceArguments) as ArgumentName[];

/** A call of `accept_deployment`. @param argument returns the SQL expression of an argument */
export function acceptanceCall(argument: (name: ArgumentName, index: number) => string): string {
  const values = acceptanceArgumentNames.map((name, index) => `${name} => ${argument(name, index)}`);
  return `accept_deployment(${values.join(', ')})`;
}

/** The values of {@link acceptanceArguments}, in their order. */
export function acceptanceValues(request: NewDeployment): unknown[] {
  const { image, proof, promotedFrom } = request;
  const queue: QueueName = image === undefined ? 'builds' : 'rollouts';
  const values: Record<ArgumentName, unknown> = {
    app: request.workloadId,
    deployment_id: newId(),
    work_id: newId(),
    queue,
    trigger: request.trigger,
    image: image ?? '',
    digest: request.digest,
    commit: request.commit,
    commit_message: request.commitMessage,
    commit_author: request.commitAuthor,
    branch: request.branch,
    actor: request.actor,
    rollback_of: request.rollbackOf,
    restores: request.restores,
    automatic: request.automatic ?? false,
    promoted_from_environment: promotedFrom?.environment,
    promoted_from_revision: promotedFrom?.revision,
    reason: request.reason,
    dedup_key: request.dedupKey,
    only_first: request.onlyFirst ?? false,
    skipped: request.skipped ?? false,
    proof_version: proof && 'version' in proof ? proof.version : null,
    proof_url_hash: proof && 'urlSecretHash' in proof ? proof.urlSecretHash : null,
  };
  return acceptanceArgumentNames.map((name) => values[name] ?? null);
}

const acceptText = `SELECT * FROM ${acceptanceCall((name, index) => `$${index + 1}::${acceptanceArguments[name]}`)}`;

/** The problems that `accept_deployment` reports as SQLSTATE SV000, by message. */
const refusals: Readonly<Record<string, () => Problem>> = {
  not_ready: () => new Problem('not_ready', 'The app is still being set up; try again in a few seconds.'),
  not_found: () => new Problem('not_found', 'The app was deleted.'),
  invalid_webhook_token: invalidWebhookToken,
  image_being_deleted: () => imageDeleted('deleting'),
  image_deleted: () => imageDeleted('deleted'),
};

/**
 * Runs a statement that calls `accept_deployment`; the caller announces the acceptances.
 * @throws Problem as {@link acceptDeployment} does
 */
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

/**
 * Notifies the dispatcher, and those who wait for the end of these deployments; in a transaction, when it commits. A
 * notification that is lost only delays: the receivers also check periodically.
 */
export async function announce(database: Database, superseded: readonly Id[]): Promise<void> {
  await database.query({
    name: 'announce-acceptance',
    text: `SELECT pg_notify('work', '') UNION ALL SELECT pg_notify('deployment_ends', id) FROM unnest($1::text[]) AS id`,
    values: [superseded],
  });
}

/**
 * Accepts a deployment, in the caller's transaction if there is one: takes the app's next revision under its row lock,
 * writes the record and its work, and supersedes the app's active deployments.
 * @throws Problem `not_found` (the app was deleted), `not_ready` (it is not projected yet), `invalid_webhook_token` (the
 * proof is no longer valid), `image_deleted`
 */
export async function acceptDeployment(database: Database, request: NewDeployment): Promise<Acceptance> {
  const [accepted] = await runAcceptances<Unannounced>(database, {
    name: 'accept-deployment',
    text: acceptText,
    values: acceptanceValues(request),
  });
  if (!accepted) throw new Error('accept_deployment returned no row');
  const { superseded, ...acceptance } = accepted;
  if (acceptance.created && !request.skipped) await announce(database, superseded);
  return acceptance;
}
