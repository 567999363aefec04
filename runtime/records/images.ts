import type { Database } from '../db/pool.ts';
import { newId, type Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { neededImages } from './image-needs.ts';

/** Maximum revisions that are listed for an image. */
const revisionsMax = 20;

/** `deleting`: nothing new may use it, and a worker deletes it from the registry. */
export type ImageState = 'stored' | 'deleting' | 'deleted';

/** An image that a build pushed. */
export interface StoredImage {
  id: Id;
  environmentId: Id;
  project: string;
  namespace: string;
  app: string;
  /** The name without the tag, as nodes pull it. */
  repository: string;
  digest: string;
  /** Null for an image that an older version of the platform built. */
  sizeBytes: number | null;
  state: ImageState;
  builtAt: Date;
  requestedAt: Date | null;
  /** Who asked for the deletion; null for the clean-up. */
  requestedBy: string | null;
  /** Why the last attempt to delete it failed: a stable code, and a message for people. */
  problem: string | null;
  message: string | null;
}

/** The columns of a {@link StoredImage} in `images i`. */
export const imageColumns = `i.id, i.environment_id AS "environmentId", i.project, i.namespace, i.app, i.repository, i.digest,
  i.size_bytes::float8 AS "sizeBytes", i.state, i.built_at AS "builtAt", i.requested_at AS "requestedAt",
  i.requested_by AS "requestedBy", i.problem, i.message`;

/** An image in a list. */
export interface ListedImage extends StoredImage {
  /** Its newest full name with a tag. */
  name: string;
  /** The newest revisions that name it, in all environments of the project. */
  revisions: { environment: string; app: string; revision: number }[];
  /** The deployment that needs it: the current one, the newest one, or one that is in progress. */
  usedBy: { environment: string; app: string; revision: number } | null;
}

/** The result of a build's push. */
export interface PushedImage {
  image: string;
  digest: string;
  sizeBytes?: number | undefined;
  /** The digest of the image whose dependencies the build was offered, if it was. */
  cacheDigest?: string | undefined;
}

/**
 * The dependencies of an image are offered to the next builds of its app for this long after they were installed. A build
 * could leave changed ones there, also one whose author has lost access since.
 */
const dependenciesMaxAge = '7 days';

/**
 * Records the image that a deployment's build pushed, as stored, even if an earlier one of the same digest was deleted. An
 * image outside the repository of the deployment's app is not recorded, so that nothing ever deletes it.
 * @param options.onlyNew leaves an image of the same digest as it is: a record that comes late says nothing about an image
 * that was deleted meanwhile
 * @returns its id; undefined if nothing was recorded
 */
export async function recordImage(
  database: Database,
  deploymentId: Id,
  pushed: PushedImage,
  { onlyNew = false }: { onlyNew?: boolean } = {},
): Promise<Id | undefined> {
  const onConflict = onlyNew
    ? 'NOTHING'
    : `UPDATE SET environment_id = excluded.environment_id, state = 'stored',
         project = excluded.project, size_bytes = COALESCE(excluded.size_bytes, images.size_bytes), built_at = now(),
         installed_at = GREATEST(images.installed_at, excluded.installed_at),
         deleted_at = NULL, requested_at = NULL, requested_by = NULL, problem = NULL, message = NULL, retry_at = NULL`;
  const { rows } = await database.query<{ id: Id }>(
    `WITH image AS (
       INSERT INTO images (id, environment_id, project, namespace, app, repository, digest, size_bytes, installed_at)
         SELECT $4::uuid, w.environment_id, w.project, w.namespace, w.name, regexp_replace($2, ':[^/:]*$', ''), $3::text,
           $5::bigint, CASE WHEN $6::text IS NULL THEN now() ELSE
             (SELECT installed_at FROM images WHERE repository = regexp_replace($2, ':[^/:]*$', '') AND digest = $6)
           END
         FROM deployments d JOIN workloads w ON w.id = d.workload_id
         WHERE d.id = $1 AND regexp_replace($2, ':[^/:]*$', '') LIKE '%/' || w.namespace || '/' || w.name
       ON CONFLICT (repository, digest) DO ${onConflict}
       RETURNING id),
     tag AS (
       INSERT INTO image_tags (name, image_id) SELECT $2::text, id FROM image
       ON CONFLICT (name) DO UPDATE SET image_id = excluded.image_id, built_at = now())
     SELECT id FROM image`,
    [deploymentId, pushed.image, pushed.digest, newId(), pushed.sizeBytes ?? null, pushed.cacheDigest ?? null],
  );
  return rows[0]?.id;
}

/**
 * The digest of the newest image that was built for an app in its present environment and that is in this repository, for
 * a build that may use its dependencies; undefined without one, while its deletion is requested, or when its dependencies
 * were installed more than a week ago.
 */
export async function findDependenciesImage(
  database: Database,
  { workloadId, repository }: { workloadId: Id; repository: string },
): Promise<string | undefined> {
  const { rows } = await database.query<{ digest: string; isRecent: boolean | null }>(
    `SELECT i.digest, i.installed_at > now() - $3::interval AS "isRecent" FROM workloads w
     JOIN images i ON i.environment_id = w.environment_id AND i.app = w.name
     WHERE w.id = $1 AND i.repository = $2 AND i.state = 'stored' AND i.requested_at IS NULL
     ORDER BY i.built_at DESC, i.id DESC LIMIT 1`,
    [workloadId, repository, dependenciesMaxAge],
  );
  return rows[0]?.isRecent ? rows[0].digest : undefined;
}

/** Images of one environment, newest first: up to `limit`, older than the image `before`. Deleted ones are left out. */
export async function listImages(
  database: Database,
  environmentId: Id,
  { app, limit, before }: { app?: string | undefined; limit: number; before?: Id | undefined },
): Promise<ListedImage[]> {
  return readListed(
    database,
    `i.environment_id = $1 AND i.state <> 'deleted' AND ($2::text IS NULL OR i.app = $2)
       AND ($3::uuid IS NULL OR (i.built_at, i.id) < (SELECT built_at, id FROM images WHERE id = $3))
     ORDER BY i.built_at DESC, i.id DESC LIMIT $4`,
    [environmentId, app ?? null, before ?? null, limit],
  );
}

/** Images by id, with what uses them, in no certain order. */
export async function findListedImages(database: Database, ids: readonly Id[]): Promise<ListedImage[]> {
  return readListed(database, `i.id = ANY($1)`, [ids]);
}

/**
 * Finds an image of an environment by its id, by `<app>:<tag>`, by its full name, or by its digest. Deleted ones are found,
 * too. @param prefix what the names of the environment's images begin with, before `<app>`
 * @throws Problem `not_found`; `conflict` for a digest that several apps have
 */
export async function findImage(
  database: Database,
  environmentId: Id,
  { reference, prefix }: { reference: string; prefix: string },
): Promise<ListedImage> {
  const [name = '', digest = name] = reference.split('@');
  const { rows } = await database.query<{ id: Id }>(
    `SELECT i.id FROM images i WHERE i.environment_id = $1 AND (i.digest = $2 OR i.id = $3
       OR i.id = ANY(ARRAY(SELECT t.image_id FROM image_tags t WHERE t.name = ANY($4))))
     LIMIT 2`,
    [environmentId, digest, isUuid(name) ? name : null, [name, `${prefix}${name}`]],
  );
  if (rows.length > 1) {
    throw new Problem('conflict', `Several apps have the image "${reference.slice(0, 200)}". Name it as <app>:<tag>.`);
  }
  const [image] = await findListedImages(
    database,
    rows.map(({ id }) => id),
  );
  if (image) return image;
  throw new Problem(
    'not_found',
    `There is no built image "${reference.slice(0, 200)}" in this environment; list them with \`svc image list\`.`,
  );
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

async function readListed(database: Database, condition: string, values: unknown[]): Promise<ListedImage[]> {
  // The images come first, so that only the history of their projects' apps is read, and of that a few rows.
  const { rows } = await database.query<ListedImage>(
    `WITH i AS MATERIALIZED (SELECT * FROM images i WHERE ${condition}),
     needed AS MATERIALIZED (${neededImages('SELECT project FROM i')})
     SELECT ${imageColumns}, COALESCE(tag.name, i.repository || '@' || i.digest) AS name,
       COALESCE(naming.revisions, '[]') AS revisions, users.user AS "usedBy"
     FROM i
     LEFT JOIN LATERAL (SELECT t.name FROM image_tags t WHERE t.image_id = i.id ORDER BY t.built_at DESC, t.name DESC LIMIT 1)
       AS tag ON true
     LEFT JOIN LATERAL (SELECT json_agg(json_build_object('environment', environment, 'app', name, 'revision', revision)
         ORDER BY revision DESC) AS revisions
       FROM (SELECT w.environment, w.name, d.revision FROM deployments d JOIN workloads w ON w.id = d.workload_id
         WHERE d.image_id = i.id ORDER BY d.revision DESC LIMIT ${revisionsMax}) AS newest) AS naming ON true
     LEFT JOIN LATERAL (SELECT json_build_object('environment', environment, 'app', app, 'revision', revision) AS user
       FROM needed WHERE needed.image_id = i.id AND needed.project = i.project
       ORDER BY environment, app, revision DESC LIMIT 1) AS users ON true
     ORDER BY i.built_at DESC, i.id DESC`,
    values,
  );
  return rows;
}

/** The refusal of an image that is being deleted, or was. */
export function imageDeleted(state: Exclude<ImageState, 'stored'>): Problem {
  const what = state === 'deleted' ? 'The image was deleted' : 'The image is being deleted';
  return new Problem(
    'image_deleted',
    `${what}. Build it again from the commit or the folder, or choose a revision whose image exists: svc app history`,
  );
}

/** Checks that an image, if a build made it, still exists. @throws Problem `image_deleted` */
export async function checkImageStored(database: Database, image: string): Promise<void> {
  const [name = '', digest = ''] = image.split('@');
  const { rows } = await database.query<{ state: ImageState }>(
    `SELECT i.state FROM images i WHERE i.repository = regexp_replace($1, ':[^/:]*$', '') AND i.digest = $2
     UNION ALL
     SELECT i.state FROM image_tags t JOIN images i ON i.id = t.image_id WHERE t.name = $1 AND $2 = ''`,
    [name, digest],
  );
  const state = rows[0]?.state ?? 'stored';
  if (state !== 'stored') throw imageDeleted(state);
}
