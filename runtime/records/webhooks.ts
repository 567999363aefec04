import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';

/**
 * An app's webhook. Its token is sealed in a Secret of the cluster, under `v<version>`
 * (docs/reference/webhook.md#token).
 */
export interface Webhook {
  enabled: boolean;
  version: number;
  updatedAt: Date;
  /** The previous version and its end, during the grace period. */
  previousVersion: number | null;
  previousUntil: Date | null;
  /** The only branch whose pushes deploy; null for the branch of the app's git source. */
  branch: string | null;
  /** Patterns of the tags that a registry may deploy, separated by commas; null for all. */
  tags: string | null;
  /** The SHA-256 of the last part of the secret URL; null without a secret URL. */
  urlSecretHash: Buffer | null;
}

/** An app whose webhook is called, with the webhook if it was ever enabled. */
export interface Receiver {
  workloadId: Id;
  project: string;
  webhook: Webhook | undefined;
  /** The image of its newest deployment that has one; null before the first. */
  image: string | null;
  /** The branch of its git source; null without one. */
  gitBranch: string | null;
}

/** The settings of a webhook besides its token. Absent fields stay; null removes the setting. */
export interface WebhookSettings {
  branch?: string | null | undefined;
  tags?: string | null | undefined;
  urlSecretHash?: Buffer | null | undefined;
}

const grace = 'enabled AND previous_until > clock_timestamp()';
const columns = `enabled, version, webhooks.updated_at AS "updatedAt", webhooks.branch, tags, url_secret_hash AS "urlSecretHash",
  CASE WHEN ${grace} THEN previous_version END AS "previousVersion",
  CASE WHEN ${grace} THEN previous_until END AS "previousUntil"`;

/** Locks the app, so that acceptances and changes of the webhook wait for each other. */
const lockApp = 'SELECT id FROM workloads WHERE id = $1 FOR NO KEY UPDATE';

/** The error for every failed proof, which does not reveal whether the app exists. */
export function invalidWebhookToken(): Problem {
  return new Problem('invalid_webhook_token', 'The webhook token or signature is missing or wrong.');
}

/** The app's webhook; undefined when it was never enabled. */
export async function findWebhook(database: Database, workloadId: Id): Promise<Webhook | undefined> {
  const { rows } = await database.query<Webhook>(`SELECT ${columns} FROM webhooks WHERE workload_id = $1`, [
    workloadId,
  ]);
  return rows[0];
}

/** Finds an existing app by name with its webhook, in one query. */
export async function findReceiver(database: Database, namespace: string, name: string): Promise<Receiver | undefined> {
  const [receiver] = await findReceivers(database, [{ namespace, app: name }]);
  return receiver;
}

/** The name of an app in a webhook's URL. */
export interface AppName {
  namespace: string;
  app: string;
}

/** Like {@link findReceiver} for several apps; the result is in their order. */
export async function findReceivers(database: Database, apps: readonly AppName[]): Promise<(Receiver | undefined)[]> {
  type Row = Omit<Receiver, 'webhook'> & (Webhook | { enabled: null }) & { position: number };
  const { rows } = await database.query<Row>({
    // A subquery with a limit is looked up for each name. A join reads all workloads of the platform where its plan is from a
    // time when there were few, and the plan is kept.
    name: 'find-receivers',
    text: `SELECT position::integer, id AS "workloadId", project, ${columns},
        (SELECT image FROM deployments WHERE deployments.workload_id = workloads.id AND revision IS NOT NULL
          AND image <> '' ORDER BY revision DESC LIMIT 1) AS image,
        (SELECT branch FROM git_sources WHERE git_sources.workload_id = workloads.id) AS "gitBranch"
      FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS requested (namespace, name, position)
        CROSS JOIN LATERAL (SELECT id, project FROM workloads
          WHERE (workloads.namespace, workloads.name) = (requested.namespace, requested.name)
            AND kind = 'App' AND deleted_at IS NULL LIMIT 1) AS workloads
        LEFT JOIN webhooks ON workload_id = id`,
    values: [apps.map(({ namespace }) => namespace), apps.map(({ app }) => app)],
  });
  const receivers: (Receiver | undefined)[] = apps.map(() => undefined);
  for (const { position, workloadId, project, image, gitBranch, ...webhook } of rows) {
    receivers[position - 1] = {
      workloadId,
      project,
      image,
      gitBranch,
      webhook: webhook.enabled === null ? undefined : webhook,
    };
  }
  return receivers;
}

/**
 * Enables the webhook with the token of `version`, which must have been written before. Older tokens become invalid at
 * the commit, except the current one, which stays valid for `graceSeconds`.
 * @param options.replaces the only version that may be replaced, 0 for none; default any
 * @returns false when a newer version is enabled, or another than the one to replace
 * @throws Problem `not_ready` when the app is not projected yet
 */
export async function enableWebhook(
  database: Database,
  workloadId: Id,
  version: number,
  { graceSeconds = 0, replaces }: { graceSeconds?: number | undefined; replaces?: number | undefined } = {},
): Promise<boolean> {
  const { rowCount: projected } = await database.query('SELECT 1 FROM workloads WHERE id = $1', [workloadId]);
  if (!projected) throw new Problem('not_ready', 'The app is still being set up; try again in a few seconds.');
  const { rowCount } = await database.query(
    `WITH app AS (${lockApp})
     INSERT INTO webhooks (workload_id, enabled, version) SELECT id, true, $2 FROM app
     ON CONFLICT (workload_id) DO UPDATE SET enabled = true, version = $2, updated_at = now(),
       previous_version = CASE WHEN webhooks.enabled AND $3 > 0 THEN webhooks.version END,
       previous_until = CASE WHEN webhooks.enabled AND $3 > 0 THEN clock_timestamp() + $3 * interval '1 s' END
     WHERE webhooks.version < $2 AND ($4::integer IS NULL OR webhooks.version = $4)`,
    [workloadId, version, graceSeconds, replaces ?? null],
  );
  return rowCount === 1;
}

/**
 * Changes settings.
 * @returns false when the webhook was never enabled
 */
export async function changeWebhook(database: Database, workloadId: Id, settings: WebhookSettings): Promise<boolean> {
  const { branch, tags, urlSecretHash } = settings;
  const { rowCount } = await database.query(
    `WITH app AS (${lockApp})
     UPDATE webhooks SET branch = CASE WHEN $2 THEN $3 ELSE branch END, tags = CASE WHEN $4 THEN $5 ELSE tags END,
       url_secret_hash = CASE WHEN $6 THEN $7 ELSE url_secret_hash END, updated_at = now()
     FROM app WHERE workload_id = app.id`,
    [
      workloadId,
      branch !== undefined,
      branch ?? null,
      tags !== undefined,
      tags ?? null,
      urlSecretHash !== undefined,
      urlSecretHash ?? null,
    ],
  );
  return rowCount === 1;
}

/**
 * Disables the webhook. Its tokens and secret URL stay invalid, even after it is enabled again.
 * @returns false when it was disabled
 */
export async function disableWebhook(database: Database, workloadId: Id): Promise<boolean> {
  const { rowCount } = await database.query(
    `WITH app AS (${lockApp})
     UPDATE webhooks SET enabled = false, url_secret_hash = NULL, updated_at = now()
     FROM app WHERE workload_id = app.id AND enabled`,
    [workloadId],
  );
  return rowCount === 1;
}

/**
 * What a sender proved: the token of a version, or the secret URL, by the SHA-256 of its last part. It is checked when
 * a deployment is accepted, under the lock of the app's row, which changes of the webhook take as well.
 */
export type WebhookProof = { version: number } | { urlSecretHash: Buffer };
