import { hash, randomBytes } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { chunkBytes, checkSourceFiles, type SourceFile } from '../domain/source-files.ts';

/** The folder of a deployment. */
export interface DeploymentSource {
  projectId: Id;
  files: SourceFile[];
  dockerfile: string | null;
}

/** What the lists of files of a project's waiting builds may take, in bytes. */
const listsMaxBytes = 32 * 1024 * 1024;

/** Those of the digests of which the project has no chunk. */
export async function missingChunks(database: Database, projectId: Id, digests: readonly string[]): Promise<string[]> {
  const { rows } = await database.query<{ digest: string }>(
    `SELECT DISTINCT wanted AS digest FROM unnest($2::text[]) AS wanted
     WHERE NOT EXISTS (SELECT FROM source_chunks WHERE project_id = $1 AND digest = decode(wanted, 'hex'))`,
    [projectId, digests],
  );
  return rows.map(({ digest }) => digest);
}

/**
 * Stores the folder of a deployment, in the transaction that accepts it, and keeps its chunks for the build.
 * @throws Problem `source_incomplete` with up to 100 missing digests; `invalid_source` for a size that is not the content's
 */
export async function insertDeploymentSource(
  client: ClientBase,
  deploymentId: Id,
  { projectId, files, dockerfile }: DeploymentSource,
): Promise<void> {
  checkSourceFiles(files);
  await makeRoomForList(client, projectId);
  const lengths = await useChunks(client, projectId, [...new Set(files.flatMap(({ chunks }) => chunks))]);
  for (const { path, size, chunks } of files) {
    const fits = chunks.every(
      (digest, index) => lengths.get(digest) === Math.min(chunkBytes, size - index * chunkBytes),
    );
    if (fits) continue;
    throw new Problem('invalid_source', `The size of "${path.slice(0, 100)}" is not that of its chunks.`, {
      details: { path: path.slice(0, 200) },
    });
  }
  await client.query(
    `INSERT INTO deployment_sources (deployment_id, project_id, files, dockerfile) VALUES ($1, $2, $3, $4)`,
    [deploymentId, projectId, JSON.stringify(files), dockerfile],
  );
}

/**
 * Bounds the lists of files that a project stores: nothing reads the list of a deployment that has ended or was built. Locks
 * the row of the project's store, as whatever adds or deletes its chunks does.
 * @throws Problem `source_store_full`
 */
async function makeRoomForList(client: ClientBase, projectId: Id): Promise<void> {
  await client.query('INSERT INTO source_stores (project_id, bytes) VALUES ($1, 0) ON CONFLICT DO NOTHING', [
    projectId,
  ]);
  await client.query('SELECT FROM source_stores WHERE project_id = $1 FOR UPDATE', [projectId]);
  await client.query(
    `DELETE FROM deployment_sources s USING deployments d
     WHERE s.project_id = $1 AND d.id = s.deployment_id AND (d.ended_at IS NOT NULL OR d.built_at IS NOT NULL)`,
    [projectId],
  );
  const { rows } = await client.query<{ bytes: string }>(
    'SELECT COALESCE(sum(pg_column_size(files)), 0) AS bytes FROM deployment_sources WHERE project_id = $1',
    [projectId],
  );
  if (Number(rows[0]?.bytes ?? 0) <= listsMaxBytes) return;
  throw new Problem(
    'source_store_full',
    'Too many uploaded folders of the project wait for their builds. Try again when some of them have ended.',
  );
}

/** The lengths of a project's chunks, which count as used now. @throws Problem `source_incomplete` */
async function useChunks(client: ClientBase, projectId: Id, digests: readonly string[]): Promise<Map<string, number>> {
  // In order, so that two uploads of one project never wait for each other.
  const { rows } = await client.query<{ digest: string; length: number }>(
    `SELECT encode(digest, 'hex') AS digest, octet_length(content) AS length FROM source_chunks
     WHERE project_id = $1 AND digest = ANY (SELECT decode(d, 'hex') FROM unnest($2::text[]) AS d)
     ORDER BY source_chunks.digest FOR UPDATE`,
    [projectId, digests],
  );
  const lengths = new Map(rows.map(({ digest, length }) => [digest, length]));
  const missing = digests.filter((digest) => !lengths.has(digest));
  if (missing.length > 0) {
    throw new Problem(
      'source_incomplete',
      `${missing.length} of the folder's chunks are not stored. Send them, then deploy again.`,
      { details: { missing: missing.slice(0, 100) } },
    );
  }
  await client.query(
    `UPDATE source_chunks SET used_at = now() WHERE project_id = $1 AND used_at < now() - interval '1 hour'
       AND digest = ANY (SELECT decode(d, 'hex') FROM unnest($2::text[]) AS d)`,
    [projectId, digests],
  );
  return lengths;
}

/** Whether a deployment is built from an uploaded folder, and with which Dockerfile; undefined for any other. */
export async function findDeploymentSource(
  database: Database,
  deploymentId: Id,
): Promise<Pick<DeploymentSource, 'dockerfile'> | undefined> {
  const { rows } = await database.query<Pick<DeploymentSource, 'dockerfile'>>(
    `SELECT dockerfile FROM deployment_sources WHERE deployment_id = $1`,
    [deploymentId],
  );
  return rows[0];
}

const isBuilding = `EXISTS (SELECT FROM deployments d WHERE d.id = deployment_id AND d.ended_at IS NULL AND d.built_at IS NULL)`;

function tokenDigest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/**
 * A new token with which the build of a deployment fetches its files; an earlier one stops working.
 * @returns undefined when the deployment is no longer to be built
 */
export async function issueSourceToken(database: Database, deploymentId: Id): Promise<string | undefined> {
  const token = randomBytes(32).toString('base64url');
  const { rowCount } = await database.query(
    `UPDATE deployment_sources SET token_digest = $2 WHERE deployment_id = $1 AND ${isBuilding}`,
    [deploymentId, tokenDigest(token)],
  );
  return rowCount === 1 ? token : undefined;
}

/** The folder of a deployment that is being built; undefined with a wrong or used token. */
export async function openDeploymentSource(
  database: Database,
  deploymentId: Id,
  token: string,
): Promise<Pick<DeploymentSource, 'projectId' | 'files'> | undefined> {
  const { rows } = await database.query<Pick<DeploymentSource, 'projectId' | 'files'>>(
    `SELECT project_id AS "projectId", files FROM deployment_sources
     WHERE deployment_id = $1 AND token_digest = $2 AND ${isBuilding}`,
    [deploymentId, tokenDigest(token)],
  );
  return rows[0];
}

/** Ends the validity of a deployment's token, because its files were fetched. */
export async function closeDeploymentSource(database: Database, deploymentId: Id): Promise<void> {
  await database.query(`UPDATE deployment_sources SET token_digest = NULL WHERE deployment_id = $1`, [deploymentId]);
}

/** The content of a project's chunks, by digest. */
export async function readChunks(
  database: Database,
  projectId: Id,
  digests: readonly string[],
): Promise<Map<string, Buffer>> {
  const { rows } = await database.query<{ digest: string; content: Buffer }>(
    `SELECT encode(digest, 'hex') AS digest, content FROM source_chunks
     WHERE project_id = $1 AND digest = ANY (SELECT decode(d, 'hex') FROM unnest($2::text[]) AS d)`,
    [projectId, digests],
  );
  return new Map(rows.map(({ digest, content }) => [digest, content]));
}

/** Lets the chunks of a deleted project be deleted by the next housekeeping. */
export async function forgetProjectSources(pool: Pool, projectId: Id): Promise<void> {
  await pool.query(`UPDATE source_chunks SET used_at = '-infinity' WHERE project_id = $1`, [projectId]);
}
