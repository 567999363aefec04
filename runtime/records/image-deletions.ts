import type { ClientBase } from 'pg';
import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import type { QueueName } from '../queues/catalogue.ts';
import { keptImages, neededImages } from './image-needs.ts';
import { imageColumns, type StoredImage } from './images.ts';
import { wakeDispatcher } from './work.ts';

/**
 * Images of an environment that may be deleted when each app keeps its newest `keep`: up to `limit`, oldest first. Those
 * whose deletion was requested are left out.
 */
export async function findPrunable(
  database: Database,
  { environmentId, project, app }: { environmentId: Id; project: string; app?: string | undefined },
  { keep, limit }: { keep: number; limit: number },
): Promise<Id[]> {
  const { rows } = await database.query<{ id: Id }>(
    `WITH needed AS MATERIALIZED (${neededImages('$2')}), kept AS MATERIALIZED (${keptImages('$2', '$4')})
     SELECT i.id FROM images i
     WHERE i.environment_id = $1 AND i.project = $2 AND i.state = 'stored' AND i.requested_at IS NULL
       AND ($3::text IS NULL OR i.app = $3)
       AND NOT EXISTS (SELECT FROM needed WHERE needed.image_id = i.id)
       AND NOT EXISTS (SELECT FROM kept WHERE kept.image_id = i.id)
     ORDER BY i.built_at, i.id LIMIT $5`,
    [environmentId, project, app ?? null, keep, limit],
  );
  return rows.map(({ id }) => id);
}

/** A page of the clean-up: what it may delete, and where the next page begins; undefined at the end. */
export interface CleanupPage {
  ids: Id[];
  next: Id | undefined;
}

/**
 * Searches one page of all stored images, in the order of their ids, for those that may be deleted when each app keeps its
 * newest `keep`.
 */
export async function findUnneeded(
  database: Database,
  { after, keep, size }: { after: Id | undefined; keep: number; size: number },
): Promise<CleanupPage> {
  const { rows } = await database.query<{ id: Id; needed: boolean }>(
    `WITH i AS MATERIALIZED (
       SELECT id, project, requested_at, retry_at FROM images
       WHERE state = 'stored' AND ($1::uuid IS NULL OR id > $1) ORDER BY id LIMIT $2),
     needed AS MATERIALIZED (${neededImages('SELECT project FROM i')}),
     kept AS MATERIALIZED (${keptImages('SELECT project FROM i', '$3')})
     SELECT i.id, (requested_at IS NOT NULL OR retry_at > now()
       OR EXISTS (SELECT FROM needed WHERE needed.image_id = i.id)
       OR EXISTS (SELECT FROM kept WHERE kept.image_id = i.id)) IS TRUE AS needed
     FROM i ORDER BY i.id`,
    [after ?? null, size, keep],
  );
  const ids = rows.filter(({ needed }) => !needed).map(({ id }) => id);
  return { ids, next: rows.length < size ? undefined : rows.at(-1)?.id };
}

/** Inserts work that deletes images, unless it is already due. */
export async function queueDeletions(database: Database, ids: readonly Id[]): Promise<void> {
  if (ids.length === 0) return;
  const kind: QueueName = 'images';
  await database.query(
    `INSERT INTO work (id, kind, record_id) SELECT gen_random_uuid(), $1, id FROM unnest($2::uuid[]) AS id
     ON CONFLICT (kind, record_id) DO UPDATE SET state = 'pending', due_at = now(), failures = 0, last_error = NULL,
       done_at = NULL WHERE work.state = 'done'`,
    [kind, ids],
  );
  await wakeDispatcher(database);
}

/**
 * Records who asks for the deletion of images, and inserts the work, in the caller's transaction. Images that are not
 * stored any more are left out. @returns the ids of the others
 */
export async function requestDeletions(client: ClientBase, ids: readonly Id[], actor: string): Promise<Id[]> {
  const { rows } = await client.query<{ id: Id }>(
    `UPDATE images SET requested_at = now(), requested_by = $2, problem = NULL, message = NULL
     WHERE id = ANY($1) AND state = 'stored' RETURNING id`,
    [ids, actor],
  );
  const requested = rows.map(({ id }) => id);
  await queueDeletions(client, requested);
  return requested;
}

/** The namespaces in which workloads of a project exist. */
export async function namespacesOf(database: Database, project: string): Promise<string[]> {
  const { rows } = await database.query<{ namespace: string }>(
    'SELECT DISTINCT namespace FROM workloads WHERE project = $1 AND deleted_at IS NULL ORDER BY namespace',
    [project],
  );
  return rows.map(({ namespace }) => namespace);
}

/** The full names of an image with its tags. */
export async function tagsOf(database: Database, id: Id): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>('SELECT name FROM image_tags WHERE image_id = $1', [id]);
  return rows.map(({ name }) => name);
}

/** Why an image is not deleted. */
export type Needed =
  | { by: 'deployment'; environment: string; app: string; revision: number; requested: boolean }
  /** A build of its app is in progress, and may push the same image. */
  | { by: 'build' }
  | { by: 'history' };

/**
 * Marks an image for its deletion, so that no deployment of it is accepted any more, unless it is needed. A deletion that
 * nobody requested also leaves what the newest `keep` images in an app's history are. Call it in a transaction.
 * @returns the image, whose state is `deleting`; or why it is needed; undefined when it does not exist
 */
export async function beginDeletion(
  client: ClientBase,
  id: Id,
  keep: number,
): Promise<StoredImage | Needed | undefined> {
  const names = await client.query<{ namespace: string; app: string }>(
    'SELECT namespace, app FROM images WHERE id = $1',
    [id],
  );
  if (!names.rows[0]) return undefined;
  await lockRepository(client, names.rows[0]);
  const { rows } = await client.query<StoredImage>(`SELECT ${imageColumns} FROM images i WHERE id = $1 FOR UPDATE`, [
    id,
  ]);
  const [image] = rows;
  if (!image || image.state !== 'stored') return image;
  // Each statement sees what was committed while an earlier one waited for a lock.
  const builds = await client.query(
    `SELECT FROM deployments d JOIN workloads w ON w.id = d.workload_id
     WHERE w.namespace = $1 AND w.name = $2 AND w.deleted_at IS NULL AND d.ended_at IS NULL AND d.image = '' LIMIT 1`,
    [image.namespace, image.app],
  );
  if (builds.rowCount) return { by: 'build' };
  const users = await client.query<{ environment: string; app: string; revision: number }>(
    `SELECT environment, app, revision FROM (${neededImages('$2')}) AS needed WHERE image_id = $1 LIMIT 1`,
    [id, image.project],
  );
  if (users.rows[0]) return { by: 'deployment', ...users.rows[0], requested: image.requestedAt !== null };
  if (image.requestedAt === null) {
    const history = await client.query(`SELECT FROM (${keptImages('$2', '$3')}) AS kept WHERE image_id = $1 LIMIT 1`, [
      id,
      image.project,
      keep,
    ]);
    if (history.rowCount) return { by: 'history' };
  }
  await client.query(`UPDATE images SET state = 'deleting' WHERE id = $1`, [id]);
  return { ...image, state: 'deleting' };
}

/** Takes a deletion back until its next attempt. Its request stays, with the reason for the wait. */
export async function postponeDeletion(database: Database, id: Id, reason: string): Promise<void> {
  await database.query(
    `UPDATE images SET state = 'stored', message = CASE WHEN requested_at IS NULL THEN message ELSE $2 END
     WHERE id = $1 AND state <> 'deleted'`,
    [id, reason],
  );
}

/** Ends a deletion: the image no longer exists. */
export async function endDeletion(database: Database, id: Id): Promise<void> {
  await database.query(
    `UPDATE images SET state = 'deleted', deleted_at = now(), requested_at = NULL, problem = NULL, message = NULL,
       retry_at = NULL
     WHERE id = $1 AND state = 'deleting'`,
    [id],
  );
}

/** Ends a deletion without deleting: the image stays, with the reason. The clean-up tries again a day later. */
export async function refuseDeletion(
  database: Database,
  id: Id,
  { problem, message }: { problem: string; message: string },
): Promise<void> {
  await database.query(
    `UPDATE images SET state = 'stored', requested_at = NULL, requested_by = NULL, problem = $2, message = $3,
       retry_at = now() + interval '1 day'
     WHERE id = $1 AND state <> 'deleted'`,
    [id, problem, message],
  );
}

/**
 * Whether a build of the deployment's app has to wait, because an image of the app is being deleted: the build may push the
 * same one. Call it in a transaction, after the deployment was accepted: a deletion sees the build, or the build sees it.
 */
export async function awaitsDeletion(
  client: ClientBase,
  repository: { namespace: string; app: string },
): Promise<boolean> {
  await lockRepository(client, repository);
  const { rowCount } = await client.query(
    `SELECT FROM images WHERE namespace = $1 AND app = $2 AND state = 'deleting' LIMIT 1`,
    [repository.namespace, repository.app],
  );
  return rowCount !== 0;
}

/** One at a time for an app's repository, until the end of the transaction. */
async function lockRepository(
  client: ClientBase,
  { namespace, app }: { namespace: string; app: string },
): Promise<void> {
  await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('images ' || $1 || '/' || $2, 0))`, [
    namespace,
    app,
  ]);
}
