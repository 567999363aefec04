import { randomBytes } from 'node:crypto';
import { createAddressMatcher, type AddressMatcher } from '../../runtime/domain/address.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { createDigestSlab, type DigestSlab } from './digest-slab.ts';
import type { AppRow, Changes, KeyRow, LoadSink, PlanRow, ViewPosition } from './gate-store.ts';
import type { KeySlots } from './key-slots.ts';
import { NumberRecords, PagedList } from './paged.ts';
import { createPlan, updatePlan, type GatePlan } from './plan.ts';
import { createBucket, type Bucket } from './rate-limit.ts';
import { SlotIndex, textHash } from './slot-index.ts';

/** Maximum age of keys, plans and usage; beyond it, every request is denied (docs/reference/gate.md#freshness). */
export const freshnessCeilingMs = 90_000;

/**
 * A key in memory. There may be a million: rarely used fields are references, keys share equal values, and what changes
 * with requests is in records of numbers ({@link NumberRecords}).
 */
export interface GateKey {
  /** See {@link KeySlots}. */
  slot: number;
  handle: string;
  environmentId: Id;
  /** Shared by all keys of the plan, so that a change applies to all at once. */
  plan: GatePlan;
  /** App ids; undefined for every app of the environment. */
  scope: ReadonlySet<Id> | undefined;
  /** Undefined for every client. */
  addresses: AddressMatcher | undefined;
  enabled: boolean;
  /** Wall-clock milliseconds; Infinity for never. */
  expiresAt: number;
  /** The display name as a header's value; undefined without one. */
  nameHeader: string | undefined;
}

/** An existing app or function, gated or not. */
export interface GateApp {
  environmentId: Id;
  namespace: string;
  name: string;
}

/** A load of the whole view. Verdicts use the current view until `commit`. */
interface ViewLoad extends Omit<LoadSink, 'others'> {
  /** Replaces the current view. */
  commit(position: ViewPosition): void;
}

/** The plans, keys and apps that one replica holds in memory, and their age. */
export interface GateView {
  key(handle: string): GateKey | undefined;
  keyOf(id: Id): GateKey | undefined;
  /** Whether the slot's key exists. */
  hasKey(slot: number): boolean;
  /** The key's bucket, full before the first request; valid until the next call. It survives changes of the key. */
  bucket(key: Pick<GateKey, 'slot'>): Bucket;
  /** Stores the key's bucket after a change. */
  keepBucket(key: GateKey, bucket: Bucket): void;
  /** Forgets which tokens the other replicas do not know of, for all keys. */
  forgetUnshared(): void;
  plan(id: Id): GatePlan | undefined;
  app(id: string): GateApp | undefined;
  /** Compares the digest with the key's. Without a key, returns false after the same work. */
  matches(key: GateKey | undefined, digest: Uint8Array): boolean;
  /** The position up to which feed and usage are applied; undefined before the first load. */
  position(): ViewPosition | undefined;
  /** Starts a load of everything. */
  beginLoad(): ViewLoad;
  /** Applies the changes since {@link position}. @throws Error when they do not fit; load everything then */
  apply(changes: Pick<Changes, 'position' | 'plans' | 'keys' | 'apps' | 'gone'>): void;
  /** Records that the view contains everything committed before this time (monotonic ms). */
  provenAt(monotonic: number): void;
  /** Milliseconds since the last `provenAt`; undefined before the first. */
  ageMs(monotonic: number): number | undefined;
  /** Whether the view is fresh enough to allow requests. */
  fresh(monotonic: number): boolean;
  size(): { keys: number; plans: number; apps: number };
}

/**
 * Encodes a display name as a header value: keeps printable ASCII and percent-encodes everything else, `%`, and spaces
 * at the ends as UTF-8. `decodeURIComponent` restores the name. No name can end the header.
 */
export function encodeHeaderText(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x7e]+|%|^ +|(?<! ) +$/g, (part) => encodeURIComponent(part));
}

/** The rows of one view, without its position. */
interface Tables {
  plans: Map<Id, GatePlan>;
  apps: Map<Id, GateApp>;
  /** By slot. */
  keys: PagedList<GateKey>;
  keyCount: number;
  handles: SlotIndex;
  /** By slot. That of slot 0 is random; unknown handles are compared with it, so that they take the same time. */
  digests: DigestSlab;
  /** One string per environment id, which its keys and apps share. */
  environments: Map<Id, Id>;
}

function emptyTables(): Tables {
  const digests = createDigestSlab();
  digests.set(0, randomBytes(32));
  const keys = new PagedList<GateKey>();
  return {
    plans: new Map(),
    apps: new Map(),
    keys,
    keyCount: 0,
    handles: new SlotIndex((slot) => textHash(keys.get(slot)?.handle ?? '')),
    digests,
    environments: new Map(),
  };
}

function findKey({ keys, handles }: Tables, handle: string): GateKey | undefined {
  return keys.get(handles.find(textHash(handle), (slot) => keys.get(slot)?.handle === handle));
}

function putPlan({ plans }: Tables, row: PlanRow): void {
  const plan = plans.get(row.id);
  if (plan) updatePlan(plan, row);
  else plans.set(row.id, createPlan(row));
}

function putApp(tables: Tables, { id, environmentId, namespace, name }: AppRow): void {
  tables.apps.set(id, { environmentId: sharedText(tables, environmentId), namespace, name });
}

/** The one string for an environment's id: equal ones are then compared at once. */
function sharedText({ environments }: Tables, environmentId: Id): Id {
  const shared = environments.get(environmentId);
  if (shared !== undefined) return shared;
  environments.set(environmentId, environmentId);
  return environmentId;
}

function dropKey(tables: Tables, slot: number): void {
  if (!tables.keys.get(slot)) return;
  tables.handles.remove(slot);
  tables.keys.set(slot, undefined);
  tables.keyCount--;
}

function putKey(tables: Tables, slots: KeySlots, row: KeyRow): void {
  const { plans, digests, keys, handles } = tables;
  const plan = plans.get(row.planId);
  // The foreign key prevents this. The feed loads an inconsistent view again.
  if (!plan) throw new Error(`the plan ${row.planId} of a key is missing`);
  const slot = slots.slotOf(row.id);
  dropKey(tables, slot);
  digests.set(slot, row.digest);
  keys.set(slot, {
    slot,
    handle: row.handle,
    environmentId: sharedText(tables, row.environmentId),
    plan,
    scope: row.scope ? new Set(row.scope) : undefined,
    addresses: row.allowedCidrs ? createAddressMatcher(row.allowedCidrs) : undefined,
    enabled: row.enabled,
    expiresAt: row.expiresAt ?? Infinity,
    nameHeader: row.name === null || row.name === '' ? undefined : encodeHeaderText(row.name),
  });
  handles.add(slot);
  tables.keyCount++;
}

/** The numbers of a bucket. */
const [takenField, atField, unsharedField, bucketFields] = [0, 1, 2, 3] as const;

/** Creates an empty view, which is not fresh. */
export function createGateView(slots: KeySlots): GateView {
  // Kept over loads, which would otherwise refill the buckets.
  const buckets = new NumberRecords(bucketFields);
  const bucket = createBucket();
  let tables = emptyTables();
  let position: ViewPosition | undefined;
  let provenAt: number | undefined;

  return {
    key: (handle) => findKey(tables, handle),
    keyOf: (id) => tables.keys.get(slots.find(id)),
    hasKey: (slot) => tables.keys.get(slot) !== undefined,
    bucket({ slot }) {
      bucket.taken = buckets.get(slot, takenField);
      bucket.at = buckets.get(slot, atField);
      bucket.unshared = buckets.get(slot, unsharedField);
      return bucket;
    },
    keepBucket({ slot }, { taken, at, unshared }) {
      buckets.set(slot, takenField, taken);
      buckets.set(slot, atField, at);
      buckets.set(slot, unsharedField, unshared);
    },
    forgetUnshared() {
      for (let slot = 1; slot <= slots.last(); slot++) {
        if (buckets.get(slot, unsharedField) !== 0) buckets.set(slot, unsharedField, 0);
      }
    },
    plan: (id) => tables.plans.get(id),
    app: (id) => tables.apps.get(id),
    matches: (key, digest) => tables.digests.equals(key ? key.slot : 0, digest),
    position: () => position,
    beginLoad() {
      const loading = emptyTables();
      return {
        plans: (rows) => rows.forEach((row) => putPlan(loading, row)),
        apps: (rows) => rows.forEach((row) => putApp(loading, row)),
        keys: (rows) => rows.forEach((row) => putKey(loading, slots, row)),
        commit(reached) {
          tables = loading;
          for (let slot = 1; slot <= slots.last(); slot++) if (!loading.keys.get(slot)) buckets.reset(slot);
          position = reached;
        },
      };
    },
    apply({ plans, apps, keys, gone, position: reached }) {
      for (const row of plans) putPlan(tables, row);
      for (const row of apps) putApp(tables, row);
      for (const row of keys) putKey(tables, slots, row);
      for (const slot of gone.keys.map((id) => slots.find(id))) {
        dropKey(tables, slot);
        buckets.reset(slot);
      }
      for (const id of gone.apps) tables.apps.delete(id);
      for (const id of gone.plans) tables.plans.delete(id);
      position = reached;
    },
    provenAt(monotonic) {
      provenAt = monotonic;
    },
    ageMs: (monotonic) => (provenAt === undefined ? undefined : monotonic - provenAt),
    fresh: (monotonic) => provenAt !== undefined && monotonic - provenAt < freshnessCeilingMs,
    size: () => ({ keys: tables.keyCount, plans: tables.plans.size, apps: tables.apps.size }),
  };
}
