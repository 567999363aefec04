import type { ListedObject } from '../../runtime/host/object-store.ts';
import type { Database } from '../../runtime/db/pool.ts';

/** A difference between what a bucket holds and what is known of it. */
export interface ObjectChange {
  event: 'created' | 'removed';
  /** As it is now, or was last. */
  object: ListedObject;
}

type ObjectRow = Omit<ListedObject, 'key' | 'size'> & { key: Buffer; size: string };

const pageRows = 1_000;
/** Objects that one statement forgets; there may be as many as a bucket had. */
const batchRows = 5_000;

/** The objects that a bucket held when its changes were last kept, in the order of their keys' bytes. */
export async function* knownObjects(
  database: Database,
  workloadId: string,
  origin: string,
): AsyncGenerator<ListedObject> {
  let after: Buffer = Buffer.alloc(0);
  for (;;) {
    const { rows } = await database.query<ObjectRow>(
      `SELECT key, etag, modified, size FROM event_objects WHERE workload_id = $1 AND origin = $2 AND key > $3
       ORDER BY key LIMIT $4`,
      [workloadId, origin, after, pageRows],
    );
    yield* rows.map(objectOf);
    const last = rows.at(-1);
    if (!last || rows.length < pageRows) return;
    after = last.key;
  }
}

/** What is known of some objects, by their keys. */
export async function findObjects(
  database: Database,
  { workloadId, origin }: { workloadId: string; origin: string },
  keys: readonly string[],
): Promise<Map<string, ListedObject>> {
  const { rows } = await database.query<ObjectRow>(
    `SELECT key, etag, modified, size FROM event_objects WHERE workload_id = $1 AND origin = $2 AND key = ANY($3::bytea[])`,
    [workloadId, origin, keys.map((key) => Buffer.from(key, 'utf8'))],
  );
  return new Map(rows.map(objectOf).map((object) => [object.key, object]));
}

/** Records changes whose events are kept; each key stands in them once. */
export async function recordObjects(
  database: Database,
  workloadId: string,
  origin: string,
  found: readonly ObjectChange[],
): Promise<void> {
  const made = found.filter(({ event }) => event === 'created').map(({ object }) => object);
  const gone = found.filter(({ event }) => event === 'removed').map(({ object }) => object);
  await database.query(
    `WITH gone AS (
       DELETE FROM event_objects WHERE workload_id = $1 AND origin = $2 AND key = ANY($3::bytea[]))
     INSERT INTO event_objects (workload_id, origin, key, etag, modified, size)
     SELECT $1, $2, * FROM unnest($4::bytea[], $5::text[], $6::text[], $7::bigint[])
     ON CONFLICT (workload_id, origin, key) DO UPDATE
       SET etag = excluded.etag, modified = excluded.modified, size = excluded.size`,
    [
      ...[workloadId, origin, gone.map(keyOf), made.map(keyOf)],
      ...[made.map(({ etag }) => etag), made.map(({ modified }) => modified), made.map(({ size }) => size)],
    ],
  );
}

/** Forgets what is known, and was told, of buckets that the function's events do not come from any more. */
export async function forgetObjects(database: Database, workloadId: string, origin: string): Promise<void> {
  for (let forgotten: number | null = batchRows; forgotten === batchRows;) {
    ({ rowCount: forgotten } = await database.query(
      `WITH told AS (DELETE FROM object_notices WHERE workload_id = $1 AND origin <> $2)
       DELETE FROM event_objects WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM event_objects WHERE workload_id = $1 AND origin <> $2 LIMIT $3))`,
      [workloadId, origin, batchRows],
    ));
  }
}

function objectOf({ key, size, ...row }: ObjectRow): ListedObject {
  return { ...row, key: key.toString('utf8'), size: Number(size) };
}

function keyOf({ key }: ListedObject): Buffer {
  return Buffer.from(key, 'utf8');
}
