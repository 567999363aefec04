import type { Pool } from 'pg';
import { transaction } from '../../runtime/db/pool.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { ListedObject } from '../../runtime/host/object-store.ts';
import { dropNotices, listNotices, type KeptNotice } from '../../runtime/records/object-notices.ts';
import { findObjects, recordObjects, type ObjectChange } from './inventory.ts';

/** What a notice means, beside what is known of its bucket. */
export interface Noticed {
  /** Of the notice. */
  id: string;
  /** What is new by it; undefined for what a listing has told. */
  change?: ObjectChange;
  /** Whether the object is as the notice says now: one that came late tells of an upload, and changes nothing known. */
  late?: boolean;
}

/**
 * What the store told since the last reading, in its order, compared with what is known of the bucket, a page at a time.
 * A page is to be recorded before the next one is asked for. @param limit notices of a page
 */
export async function* readNotices(
  pool: Pool,
  { workloadId, origin, limit }: { workloadId: Id; origin: string; limit: number },
): AsyncGenerator<Noticed[]> {
  for (let after = '0'; ;) {
    const notices = await listNotices(pool, { workloadId, origin, after, limit });
    const last = notices.at(-1);
    if (!last) return;
    const known = await findObjects(
      pool,
      { workloadId, origin },
      notices.map(({ key }) => key),
    );
    yield notices.map((notice) => compared(notice, known));
    after = last.id;
  }
}

/** Records what notices meant, and forgets them. */
export async function recordNotices(
  pool: Pool,
  { workloadId, origin }: { workloadId: Id; origin: string },
  noticed: readonly Noticed[],
): Promise<void> {
  const last = noticed.at(-1)?.id;
  if (last === undefined) return;
  // Of several changes of an object the last one is what there is.
  const changes = new Map(
    noticed.flatMap(({ change, late }) => (change && !late ? [[change.object.key, change] as const] : [])),
  );
  await transaction(pool, async (client) => {
    await recordObjects(client, workloadId, origin, [...changes.values()]);
    await dropNotices(client, { workloadId, origin, last });
  });
}

/** @param known is brought up to what the notice says */
function compared({ id, event, ...object }: KeptNotice, known: Map<string, ListedObject>): Noticed {
  const { key, modified } = object;
  const before = known.get(key);
  const late = before !== undefined && before.modified > modified;
  if (event === 'created') {
    if (before && before.etag === object.etag && before.modified === modified) return { id };
    if (!late) known.set(key, object);
    return { id, change: { event, object }, late };
  }
  // What is there again is not gone, and what nobody heard of cannot go.
  if (!before || late) return { id };
  known.delete(key);
  return { id, change: { event, object: before } };
}
