import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';

/** An app's webhook; its token is sealed in a Secret of the cluster, under `v<version>` (spec.md §2.3). */
export interface Webhook {
  enabled: boolean;
  version: number;
  updatedAt: Date;
  /** The version before and its end, while its grace lasts. */
  previousVersion: number | null;
  previousUntil: Date | null;
  /** The only branch whose pushes deploy; null: that of the app's git source. */
  branch: string | null;
  /** Patterns of the tags that a registry may deploy, separated by commas; null: any. */
  tags: string | null;
  /** SHA-256 of the secret URL's last part; null: the app has no secret URL. */
  urlSecretHash: Buffer | null;
}

/** An app whose webhook is called, and the webhook if it ever had one. */
export interface Receiver {
  workloadId: Id;
  project: string;
  webhook: Webhook | undefined;
  /** The image of its newest deployment that has one: what it runs, or is to run; null before the first. */
  image: string | null;
  /** The branch of its git source; null when it runs images. */
  gitBranch: string | null;
}

/** What can be set about a webhook besides its token; absent: stays as it is, null: none. */
export interface WebhookSettings {
  branch?: string | null | undefined;
  tags?: string | null | undefined;
  urlSecretHash?: Buffer | null | undefined;
}

const grace = 'enabled AND previous_until > clock_timestamp()';
const columns = `enabled, version, webhooks.updated_at AS "updatedAt", webhooks.branch, tags, url_secret_hash AS "urlSecretHash",
  CASE WHEN ${grace} THEN previous_version END AS "previousVersion",
  CASE WHEN ${grace} THEN previous_until END AS "previousUntil"`;

/** Acceptances, which ask what counts, wait for whoever changes it, and the other way round. */
const lockApp = 'SELECT id FROM workloads WHERE id = $1 FOR NO KEY UPDATE';

/** The one answer to every failed proof, so that nobody learns which apps there are. */
export function invalidWebhookToken(): Problem {
  return new Problem('invalid_webhook_token', 'The webhook token or signature is missing or wrong.');
}

/** The app's webhook, or undefined when it never had one. */
export async function findWebhook(database: Database, workloadId: Id): Promise<Webhook | undefined> {
  const { rows } = await database.query<Webhook>(`SELECT ${columns} FROM webhooks WHERE workload_id = $1`, [
    workloadId,
  ]);
  return rows[0];
}

/** The living app of this name with its webhook, in one look; undefined when there is no such app. */
export async function findReceiver(database: Database, namespace: string, name: string): Promise<Receiver | undefined> {
  const [found] = await findReceivers(database, [{ namespace, app: name }]);
  return found;
}

/** An app as a webhook's URL names it. */
export interface AppName {
  namespace: string;
  app: string;
}

/** As {@link findReceiver}, of several; in their order. */
export async function findReceivers(database: Database, apps: readonly AppName[]): Promise<(Receiver | undefined)[]> {
  type Row = Omit<Receiver, 'webhook'> & (Webhook | { enabled: null }) & { position: number };
  const { rows } = await database.query<Row>({
    name: 'find-receivers',
    text: `SELECT position::integer, id AS "workloadId", project, ${columns},
        (SELECT image FROM deployments WHERE deployments.workload_id = workloads.id AND revision IS NOT NULL
          AND image <> '' ORDER BY revision DESC LIMIT 1) AS image,
        (SELECT branch FROM git_sources WHERE git_sources.workload_id = workloads.id) AS "gitBranch"
      FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (namespace, name, position)
        JOIN workloads USING (namespace, name) LEFT JOIN webhooks ON workload_id = id
      WHERE kind = 'App' AND deleted_at IS NULL`,
    values: [apps.map(({ namespace }) => namespace), apps.map(({ app }) => app)],
  });
  const found: (Receiver | undefined)[] = apps.map(() => undefined);
  for (const { position, workloadId, project, image, gitBranch, ...webhook } of rows) {
    found[position - 1] = {
      ...{ workloadId, project, image, gitBranch },
      webhook: webhook.enabled === null ? undefined : webhook,
    };
  }
  return found;
}

/**
 * Enables the webhook with the token of `version`, which must have been written before. Every older one is invalid from
 * the commit on, but for the one that counted until then, which stays valid for `graceSeconds` more. False when a newer
 * version counts already: another enable was faster.
 * @throws Problem `not_ready` when the app is not projected yet
 */
export async function enableWebhook(
  database: Database,
  workloadId: Id,
  version: number,
  graceSeconds = 0,
): Promise<boolean> {
  const { rowCount: known } = await database.query('SELECT 1 FROM workloads WHERE id = $1', [workloadId]);
  if (!known) throw new Problem('not_ready', 'The app is still being set up; try again in a few seconds.');
  const { rowCount } = await database.query(
    `WITH app AS (${lockApp})
     INSERT INTO webhooks (workload_id, enabled, version) SELECT id, true, $2 FROM app
     ON CONFLICT (workload_id) DO UPDATE SET enabled = true, version = $2, updated_at = now(),
       previous_version = CASE WHEN webhooks.enabled AND $3 > 0 THEN webhooks.version END,
       previous_until = CASE WHEN webhooks.enabled AND $3 > 0 THEN clock_timestamp() + $3 * interval '1 s' END
     WHERE webhooks.version < $2`,
    [workloadId, version, graceSeconds],
  );
  return rowCount === 1;
}

/** Changes what is given. False when the app never had a webhook. */
export async function changeWebhook(database: Database, workloadId: Id, settings: WebhookSettings): Promise<boolean> {
  const { branch, tags, urlSecretHash } = settings;
  const { rowCount } = await database.query(
    `WITH app AS (${lockApp})
     UPDATE webhooks SET branch = CASE WHEN $2 THEN $3 ELSE branch END, tags = CASE WHEN $4 THEN $5 ELSE tags END,
       url_secret_hash = CASE WHEN $6 THEN $7 ELSE url_secret_hash END, updated_at = now()
     FROM app WHERE workload_id = app.id`,
    [
      workloadId,
      ...[branch !== undefined, branch ?? null, tags !== undefined, tags ?? null],
      ...[urlSecretHash !== undefined, urlSecretHash ?? null],
    ],
  );
  return rowCount === 1;
}

/**
 * Disables the webhook: its tokens and its secret URL open nothing any more, also after it is enabled again. False when
 * it was disabled.
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
 * What a sender has proved: the token of a version, or the last part of the secret URL by its SHA-256. Whether it counts
 * is decided where something is accepted, with the app's row held; so whoever changes that takes this row, too.
 */
export type WebhookProof = { version: number } | { urlSecretHash: Buffer };
