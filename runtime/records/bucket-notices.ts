import type { Pool, PoolClient } from 'pg';
import type { ObjectNotice } from '../contracts/store-events.ts';
import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** Maximum notices stored per function. Changes beyond it are found by the next listing of the bucket. */
const noticesMax = 10_000;

/** Stores a service's notice for every function in its namespace with events from that bucket. */
export async function storeNotices(
  database: Database,
  { namespace, service }: { namespace: string; service: string },
  notices: readonly ObjectNotice[],
): Promise<void> {
  if (notices.length === 0) return;
  const column = <Name extends keyof ObjectNotice>(name: Name) => notices.map((notice) => notice[name]);
  await database.query({
    name: 'store-notices',
    text: `INSERT INTO object_notices (workload_id, origin, event, key, etag, modified, size)
      SELECT s.workload_id, s.origin, n.event, n.key, n.etag, n.modified, n.size
      FROM event_sources s JOIN workloads w ON w.id = s.workload_id AND w.namespace = $1 AND w.deleted_at IS NULL
        JOIN unnest($3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::bigint[])
          WITH ORDINALITY n (event, bucket, key, etag, modified, size, place) ON n.bucket = s.settings->>'bucket'
      WHERE s.settings->>'type' = 'minio' AND s.settings->>'source' = $2
        AND NOT EXISTS (SELECT FROM object_notices o WHERE o.workload_id = s.workload_id AND o.origin = s.origin
          ORDER BY o.id OFFSET $9 LIMIT 1)
      ORDER BY n.place`,
    values: [
      namespace,
      service,
      column('event'),
      column('bucket'),
      notices.map(({ key }) => Buffer.from(key, 'utf8')),
      column('etag'),
      column('modified'),
      column('size'),
      noticesMax - 1,
    ],
  });
}

/** A notice that was not yet compared with the inventory of its bucket. */
export interface StoredNotice extends Omit<ObjectNotice, 'bucket'> {
  id: string;
}

/** The notices for a function's bucket after `after`, in the order of arrival. */
export async function listNotices(
  database: Database,
  { workloadId, origin, after, limit }: { workloadId: Id; origin: string; after: string; limit: number },
): Promise<StoredNotice[]> {
  const { rows } = await database.query<Omit<StoredNotice, 'key' | 'size'> & { key: Buffer; size: string }>({
    name: 'list-notices',
    text: `SELECT id, event, key, etag, modified, size FROM object_notices
      WHERE workload_id = $1 AND origin = $2 AND id > $3 ORDER BY id LIMIT $4`,
    values: [workloadId, origin, after, limit],
  });
  return rows.map(({ key, size, ...row }) => ({ ...row, key: key.toString('utf8'), size: Number(size) }));
}

/** Deletes notices up to and including one. */
export async function deleteNotices(
  database: Pool | PoolClient,
  { workloadId, origin, last }: { workloadId: Id; origin: string; last: string },
): Promise<void> {
  await database.query(`DELETE FROM object_notices WHERE workload_id = $1 AND origin = $2 AND id <= $3`, [
    workloadId,
    origin,
    last,
  ]);
}
