import type { Pool } from 'pg';
import { transaction } from '../../runtime/db/pool.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { ListedObject } from '../../runtime/services/object-store.ts';
import { deleteNotices, listNotices, type StoredNotice } from '../../runtime/records/bucket-notices.ts';
import { findObjects, recordObjects, type ObjectChange } from './inventory.ts';

/** A notice compared with the recorded inventory. */
export interface ComparedNotice {
  /** Of the notice. */
  id: string;
  /** Undefined for a change that is already recorded. */
  change?: ObjectChange;
  /** Whether a newer state is recorded; the notice then makes an event, but does not change the inventory. */
  late?: boolean;
}

/**
 * The notices since the last reading, in their order, compared with the inventory, a page at a time. Record each page
 * before you read the next one. @param limit notices in a page
 */
export async function* readNotices(
  pool: Pool,
  { workloadId, origin, limit }: { workloadId: Id; origin: string; limit: number },
): AsyncGenerator<ComparedNotice[]> {
  for (let after = '0'; ;) {
    const notices = await listNotices(pool, { workloadId, origin, after, limit });
    const last = notices.at(-1);
    if (!last) return;
    const inventory = await findObjects(
      pool,
      { workloadId, origin },
      notices.map(({ key }) => key),
    );
    yield notices.map((notice) => compare(notice, inventory));
    after = last.id;
  }
}

/** Records the changes of notices in the inventory, and deletes the notices. */
export async function recordNotices(
  pool: Pool,
  { workloadId, origin }: { workloadId: Id; origin: string },
  notices: readonly ComparedNotice[],
): Promise<void> {
  const last = notices.at(-1)?.id;
  if (last === undefined) return;
  // The last change of an object is its current state.
  const changes = new Map(
    notices.flatMap(({ change, late }) => (change && !late ? [[change.object.key, change] as const] : [])),
  );
  await transaction(pool, async (client) => {
    await recordObjects(client, workloadId, origin, [...changes.values()]);
    await deleteNotices(client, { workloadId, origin, last });
  });
}

/** @param inventory is updated with the notice */
function compare({ id, event, ...object }: StoredNotice, inventory: Map<string, ListedObject>): ComparedNotice {
  const { key, modified } = object;
  const recorded = inventory.get(key);
  const late = recorded !== undefined && recorded.modified > modified;
  if (event === 'created') {
    if (recorded && recorded.etag === object.etag && recorded.modified === modified) return { id };
    if (!late) inventory.set(key, object);
    return { id, change: { event, object }, late };
  }
  // An object that was created again is not removed, and an unknown one cannot be.
  if (!recorded || late) return { id };
  inventory.delete(key);
  return { id, change: { event, object: recorded } };
}
