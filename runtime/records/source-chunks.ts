import { hash } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import { transaction } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { chunkOverheadBytes, storeLimits } from '../domain/source-files.ts';

/** Chunks that an upload or a build used this recently do not make room for others of their project. */
const keptMs = 3_600_000;
/** Maximum chunks that one statement deletes. */
const deletionMax = 500;

export type StoreLimits = { readonly [Limit in keyof typeof storeLimits]: number };

/** What a chunk counts. In SQL, as in {@link cost}. */
const costInSql = `octet_length(content) + ${chunkOverheadBytes}`;

function cost(content: Buffer): number {
  return content.length + chunkOverheadBytes;
}

/**
 * Stores chunks for a project. When the project's limit is reached, chunks that it has not used for an hour make room; when
 * the limit of all projects is, those of the project that stores most do, so that one project's uploads cannot keep others
 * from uploading.
 * @returns the digests, in the order of the chunks
 * @throws Problem `source_store_full`
 */
export async function storeChunks(
  pool: Pool,
  projectId: Id,
  contents: readonly Buffer[],
  limits: StoreLimits = storeLimits,
): Promise<string[]> {
  const digests = contents.map((content) => hash('sha256', content, 'hex'));
  const byDigest = new Map(contents.map((content, index) => [digests[index] ?? '', content]));
  await transaction(pool, async (client) => {
    await client.query(`INSERT INTO source_stores (project_id, bytes) VALUES ($1, 0) ON CONFLICT DO NOTHING`, [
      projectId,
    ]);
    const { rows } = await client.query<{ bytes: string }>(
      `SELECT bytes FROM source_stores WHERE project_id = $1 FOR UPDATE`,
      [projectId],
    );
    const { rows: stored } = await client.query<{ digest: string }>(
      `SELECT encode(digest, 'hex') AS digest FROM source_chunks
       WHERE project_id = $1 AND digest = ANY (SELECT decode(d, 'hex') FROM unnest($2::text[]) AS d)`,
      [projectId, [...byDigest.keys()]],
    );
    for (const { digest } of stored) byDigest.delete(digest);
    const added = [...byDigest.values()].reduce((sum, content) => sum + cost(content), 0);
    if (added === 0) return;
    await makeRoom(client, projectId, { bytes: Number(rows[0]?.bytes ?? 0), added, limits });
    await client.query(
      `INSERT INTO source_chunks (project_id, digest, content)
       SELECT $1, decode(d, 'hex'), c FROM unnest($2::text[], $3::bytea[]) AS chunk (d, c) ORDER BY d`,
      [projectId, [...byDigest.keys()], [...byDigest.values()]],
    );
    await client.query(`UPDATE source_stores SET bytes = bytes + $2 WHERE project_id = $1`, [projectId, added]);
  });
  return digests;
}

async function makeRoom(
  client: ClientBase,
  projectId: Id,
  { bytes, added, limits }: { bytes: number; added: number; limits: StoreLimits },
): Promise<void> {
  let own = bytes;
  while (own + added > limits.project) {
    const freed = await deleteOldest(client, projectId, own + added - limits.project, keptMs);
    if (freed === 0) throw storeFull(limits.project);
    own -= freed;
  }
  for (;;) {
    const { rows } = await client.query<{ total: string }>(
      `SELECT COALESCE(sum(bytes), 0) AS total FROM source_stores`,
    );
    const excess = Number(rows[0]?.total ?? 0) + added - limits.total;
    if (excess <= 0) return;
    // Another upload may hold the row of the largest, whose turn it then is not.
    const { rows: largest } = await client.query<{ id: Id }>(
      `SELECT project_id AS id FROM source_stores WHERE project_id <> $1 AND bytes > $2
       ORDER BY bytes DESC LIMIT 1 FOR UPDATE SKIP LOCKED`,
      [projectId, own + added],
    );
    const victim = largest[0]?.id;
    if (victim !== undefined && (await deleteOldest(client, victim, excess, 0)) > 0) continue;
    const freed = await deleteOldest(client, projectId, excess, keptMs);
    if (freed === 0) throw storeFull(limits.project);
    own -= freed;
  }
}

/** Deletes chunks of a project, the least recently used first, whose store's row the caller has locked. @returns the bytes */
async function deleteOldest(client: ClientBase, projectId: Id, excess: number, unusedMs: number): Promise<number> {
  const { rows } = await client.query<{ freed: string }>(
    `WITH oldest AS (
       SELECT digest, sum(${costInSql}) OVER (ORDER BY used_at, digest) - (${costInSql}) AS before
       FROM (SELECT digest, content, used_at FROM source_chunks
         WHERE project_id = $1 AND used_at <= now() - $3 * interval '1 ms' ORDER BY used_at, digest LIMIT $4) AS aged),
     deleted AS (
       DELETE FROM source_chunks WHERE project_id = $1 AND digest IN (SELECT digest FROM oldest WHERE before < $2)
       RETURNING ${costInSql} AS size),
     freed AS (SELECT COALESCE(sum(size), 0) AS bytes FROM deleted),
     counted AS (UPDATE source_stores SET bytes = source_stores.bytes - freed.bytes FROM freed WHERE project_id = $1)
     SELECT bytes AS freed FROM freed`,
    [projectId, excess, unusedMs, deletionMax],
  );
  return Number(rows[0]?.freed ?? 0);
}

function storeFull(limit: number): Problem {
  return new Problem(
    'source_store_full',
    `The uploads of the project take all of the ${limit / 1024 ** 2} MiB that it may store, or all that is left on the installation. What no build has used for an hour makes room: try again later, or exclude what the build does not need in .svcignore.`,
    { details: { limit } },
  );
}

/** Deletes up to `limit` chunks that were last used before `before`. @returns the number of chunks */
export async function purgeChunks(pool: Pool, before: Date, limit: number): Promise<number> {
  return transaction(pool, async (client) => {
    // Uploads lock the store's row before its chunks, too.
    await client.query(
      `SELECT FROM source_stores WHERE project_id IN (
         SELECT project_id FROM source_chunks WHERE used_at < $1 ORDER BY used_at LIMIT $2)
       ORDER BY project_id FOR UPDATE`,
      [before, limit],
    );
    const { rows } = await client.query<{ chunks: number }>(
      `WITH deleted AS (
         DELETE FROM source_chunks WHERE (project_id, digest) IN (
           SELECT project_id, digest FROM source_chunks WHERE used_at < $1 ORDER BY used_at LIMIT $2)
         RETURNING project_id, ${costInSql} AS size),
       freed AS (SELECT project_id, count(*) AS chunks, sum(size) AS bytes FROM deleted GROUP BY project_id),
       counted AS (
         UPDATE source_stores SET bytes = source_stores.bytes - freed.bytes FROM freed
         WHERE source_stores.project_id = freed.project_id)
       SELECT COALESCE(sum(chunks), 0)::integer AS chunks FROM freed`,
      [before, limit],
    );
    return rows[0]?.chunks ?? 0;
  });
}
