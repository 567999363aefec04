import type { ClientBase, Pool } from 'pg';
import { transaction } from '../../runtime/db/pool.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { readFeedVersion } from '../../runtime/records/gate.ts';
import {
  deleteKey,
  findKey,
  insertKey,
  lockKey,
  replaceKey,
  updateKey,
  type ApiKey,
  type KeyChanges,
  type NewKey,
} from '../../runtime/records/keys.ts';

/** A key that was just made, with the only copy of the full key, and the change's version in the feed. */
export interface CreatedKey {
  key: string;
  record: ApiKey;
  version: number;
}

/** Creates a key. @throws Problem `invalid_value` when the plan is gone */
export async function createKey(pool: Pool, record: NewKey): Promise<CreatedKey> {
  return transaction(pool, (client) => create(client, record));
}

async function create(client: ClientBase, record: NewKey): Promise<CreatedKey> {
  const created = await insertKey(client, record);
  return { ...created, version: await readFeedVersion(client) };
}

/** Changes a key; no `version` when nothing changed, undefined when the key is gone. @throws Problem `invalid_value` */
export async function changeKey(
  pool: Pool,
  id: Id,
  changes: KeyChanges,
): Promise<{ before: ApiKey; after: ApiKey; version?: number } | undefined> {
  return transaction(pool, async (client) => {
    const before = await lockKey(client, id);
    if (!before) return undefined;
    if (!(await updateKey(client, id, changes))) return { before, after: before };
    return { before, after: await reread(client, before), version: await readFeedVersion(client) };
  });
}

export interface Rotation {
  /** When the old key ends, unless it expires earlier. */
  endsAt: Date;
  /** Of the new key; absent for the old one's. */
  expiresAt: Date | undefined;
  now: Date;
  createdBy: string;
}

/**
 * Puts a new key of the same plan, scope, name and allow-list in a key's place, in one transaction: of two that race, one
 * wins. Undefined when the key is gone.
 * @throws Problem `already_rotated`, `key_expired`, `key_disabled`
 */
export async function rotateKey(
  pool: Pool,
  id: Id,
  { endsAt, expiresAt, now, createdBy }: Rotation,
): Promise<(CreatedKey & { before: ApiKey; after: ApiKey }) | undefined> {
  return transaction(pool, async (client) => {
    const before = await lockKey(client, id);
    if (!before) return undefined;
    refuseRotation(before, now);
    const { environmentId, name, planId, scope, allowedCidrs } = before;
    const created = await insertKey(client, {
      ...{ environmentId, name, planId, scope, allowedCidrs, createdBy },
      expiresAt: expiresAt ?? before.expiresAt,
    });
    await replaceKey(client, id, { successor: created.record.id, endsAt });
    return { ...created, before, after: await reread(client, before), version: await readFeedVersion(client) };
  });
}

function refuseRotation({ handle, replacedBy, expiresAt, enabled }: ApiKey, now: Date): void {
  if (replacedBy !== null) {
    throw new Problem('already_rotated', `The key ${handle} was rotated already; ${replacedBy} took its place.`, {
      details: { successor: replacedBy },
    });
  }
  if (expiresAt && expiresAt <= now) {
    throw new Problem('key_expired', `The key ${handle} has expired; create a new one.`);
  }
  if (!enabled) {
    throw new Problem('key_disabled', `The key ${handle} is disabled; enable it first, or create a new one.`);
  }
}

/** Revokes a key for good; the change's version in the feed, or undefined when it was gone already. */
export async function revokeKey(pool: Pool, id: Id): Promise<number | undefined> {
  return transaction(pool, async (client) => ((await deleteKey(client, id)) ? readFeedVersion(client) : undefined));
}

async function reread(client: ClientBase, { id, environmentId }: ApiKey): Promise<ApiKey> {
  const record = await findKey(client, [environmentId], id);
  if (!record) throw new Error('a key that is locked is gone');
  return record;
}
