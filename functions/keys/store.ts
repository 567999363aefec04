import type { ClientBase, Pool } from 'pg';
import { checkUnchanged } from '../../runtime/api/seen.ts';
import type { KeySeen } from '../../runtime/contracts/api/keys.ts';
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

/** A new key, with the only copy of the full key and the change's version in the feed. */
export interface CreatedKey {
  key: string;
  record: ApiKey;
  version: number;
}

/** Creates a key. @throws Problem `invalid_value` when the plan was deleted */
export async function createKey(pool: Pool, record: NewKey): Promise<CreatedKey> {
  return transaction(pool, (client) => create(client, record));
}

async function create(client: ClientBase, record: NewKey): Promise<CreatedKey> {
  const created = await insertKey(client, record);
  return { ...created, version: await readFeedVersion(client) };
}

/**
 * Changes a key; no `version` when nothing changed, undefined for a deleted key.
 * @param seen what the key has to be before the change @throws Problem `invalid_value`; `conflict` when it is another one
 */
export async function changeKey(
  pool: Pool,
  id: Id,
  changes: KeyChanges,
  seen: KeySeen = {},
): Promise<{ before: ApiKey; after: ApiKey; version?: number } | undefined> {
  return transaction(pool, async (client) => {
    const before = await lockKey(client, id);
    if (!before) return undefined;
    checkSeen(before, seen);
    if (!(await updateKey(client, id, changes))) return { before, after: before };
    return { before, after: await reread(client, before), version: await readFeedVersion(client) };
  });
}

/** @throws Problem `conflict` that names the settings that are others now */
function checkSeen(key: ApiKey, seen: KeySeen): void {
  const { handle, enabled, name, apps, allowedCidrs, expiresAt } = key;
  const plan = seen.plan === key.planId ? key.planId : key.planName;
  const now = { enabled, name, plan, apps, allowedCidrs, expiresAt: expiresAt && expiresAt.getTime() };
  checkUnchanged(
    { ...seen, expiresAt: seen.expiresAt && Date.parse(seen.expiresAt), ...listsOf(seen) },
    { ...now, ...listsOf(now) },
    { what: `the key ${handle}`, command: `svc key show ${handle}` },
  );
}

/** The lists of a key, whose order means nothing. */
function listsOf({ apps, allowedCidrs }: Pick<KeySeen, 'apps' | 'allowedCidrs'>) {
  return { apps: apps?.toSorted() ?? apps, allowedCidrs: allowedCidrs?.toSorted() ?? allowedCidrs };
}

export interface Rotation {
  /** When the old key ends, unless it expires earlier. */
  endsAt: Date;
  /** The expiry of the new key; absent to use the old key's. */
  expiresAt: Date | undefined;
  now: Date;
  createdBy: string;
}

/**
 * Replaces a key by a new one with the same plan, scope, name and allow-list, in one transaction, so that only one of two
 * concurrent calls succeeds. Undefined for a deleted key.
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
      environmentId,
      name,
      planId,
      scope,
      allowedCidrs,
      createdBy,
      expiresAt: expiresAt ?? before.expiresAt,
    });
    await replaceKey(client, id, { successor: created.record.id, endsAt });
    return { ...created, before, after: await reread(client, before), version: await readFeedVersion(client) };
  });
}

function refuseRotation({ handle, replacedBy, expiresAt, enabled }: ApiKey, now: Date): void {
  if (replacedBy !== null) {
    throw new Problem('already_rotated', `The key ${handle} was already replaced by ${replacedBy}.`, {
      details: { successor: replacedBy },
    });
  }
  if (expiresAt && expiresAt <= now) {
    throw new Problem('key_expired', `The key ${handle} has expired. Create a new key.`);
  }
  if (!enabled) {
    throw new Problem('key_disabled', `The key ${handle} is disabled. Enable it first, or create a new key.`);
  }
}

/** Deletes a key. @returns the change's version in the feed; undefined for a key that was already deleted */
export async function revokeKey(pool: Pool, id: Id): Promise<number | undefined> {
  return transaction(pool, async (client) => ((await deleteKey(client, id)) ? readFeedVersion(client) : undefined));
}

async function reread(client: ClientBase, { id, environmentId }: ApiKey): Promise<ApiKey> {
  const record = await findKey(client, [environmentId], id);
  if (!record) throw new Error('a key that is locked is gone');
  return record;
}
