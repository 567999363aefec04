import type { ListedObject } from '../../runtime/services/object-store.ts';
import type { Database } from '../../runtime/db/pool.ts';

/** A difference between a bucket and the recorded inventory. */
export interface ObjectChange {
  event: 'created' | 'removed';
  /** The created object, or the last known state of a removed one. */
  object: ListedObject;
}

type ObjectRow = Omit<ListedObject, 'key' | 'size'> & { key: Buffer; size: string };

const pageRows = 1_000;
/** Objects that one statement deletes. */
const batchRows = 5_000;

/** The recorded inventory of a bucket in the order of its keys' bytes. */
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
    yield* rows.map(toObject);
    const last = rows.at(-1);
    if (!last || rows.length < pageRows) return;
    after = last.key;
  }
}

/** The recorded objects with these keys, by key. */
export async function findObjects(
  database: Database,
  { workloadId, origin }: { workloadId: string; origin: string },
  keys: readonly string[],
): Promise<Map<string, ListedObject>> {
  const { rows } = await database.query<ObjectRow>(
    `SELECT key, etag, modified, size FROM event_objects WHERE workload_id = $1 AND origin = $2 AND key = ANY($3::bytea[])`,
    [workloadId, origin, keys.map((key) => Buffer.from(key, 'utf8'))],
  );
  return new Map(rows.map(toObject).map((object) => [object.key, object]));
}

/** Records changes after their events were stored. @param changes at most one for each key */
export async function recordObjects(
  database: Database,
  workloadId: string,
  origin: string,
  changes: readonly ObjectChange[],
): Promise<void> {
  const created = changes.filter(({ event }) => event === 'created').map(({ object }) => object);
  const removed = changes.filter(({ event }) => event === 'removed').map(({ object }) => object);
  await database.query(
    `WITH gone AS (
       DELETE FROM event_objects WHERE workload_id = $1 AND origin = $2 AND key = ANY($3::bytea[]))
     INSERT INTO event_objects (workload_id, origin, key, etag, modified, size)
     SELECT $1, $2, * FROM unnest($4::bytea[], $5::text[], $6::text[], $7::bigint[])
     ON CONFLICT (workload_id, origin, key) DO UPDATE
       SET etag = excluded.etag, modified = excluded.modified, size = excluded.size`,
    [
      workloadId,
      origin,
      removed.map(keyOf),
      created.map(keyOf),
      created.map(({ etag }) => etag),
      created.map(({ modified }) => modified),
      created.map(({ size }) => size),
    ],
  );
}

/** Deletes the inventory and notices of the function's former buckets. */
export async function forgetObjects(database: Database, workloadId: string, origin: string): Promise<void> {
  for (let deleted: number | null = batchRows; deleted === batchRows;) {
    ({ rowCount: deleted } = await database.query(
      `WITH notices AS (DELETE FROM object_notices WHERE workload_id = $1 AND origin <> $2)
       DELETE FROM event_objects WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM event_objects WHERE workload_id = $1 AND origin <> $2 LIMIT $3))`,
      [workloadId, origin, batchRows],
    ));
  }
}

function toObject({ key, size, ...row }: ObjectRow): ListedObject {
  return { ...row, key: key.toString('utf8'), size: Number(size) };
}

function keyOf({ key }: ListedObject): Buffer {
  return Buffer.from(key, 'utf8');
}
