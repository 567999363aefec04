import { createAddressMatcher } from '../../runtime/domain/address.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { AppRow, Changes, KeyRow, LoadSink, PlanRow, ViewPosition } from './gate-store.ts';
import type { KeySlots } from './key-slots.ts';
import { KeyTable, type KeyTerms } from './key-table.ts';
import { NumberRecords } from './paged.ts';
import { createPlan, updatePlan, type GatePlan } from './plan.ts';
import { createBucket, type Bucket } from './rate-limit.ts';

/** Maximum age of keys, plans and usage; beyond it, every request is denied (docs/reference/gate.md#freshness). */
export const freshnessCeilingMs = 90_000;

/** A key, made of what the view stores of it: there may be a million ({@link KeyTable}). */
export interface GateKey {
  /** See {@link KeySlots}. */
  slot: number;
  handle: string;
  terms: KeyTerms;
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
  keys: KeyTable;
  /** The terms of keys that have no property of their own, by plan. */
  sharedTerms: WeakMap<GatePlan, KeyTerms[]>;
  /** One string per environment id, which its keys and apps share. */
  environments: Map<Id, Id>;
}

function emptyTables(): Tables {
  return {
    plans: new Map(),
    apps: new Map(),
    keys: new KeyTable(),
    sharedTerms: new WeakMap(),
    environments: new Map(),
  };
}

function keyAt({ keys }: Tables, slot: number, handle?: string): GateKey | undefined {
  const terms = keys.terms(slot);
  return terms && { slot, handle: handle ?? keys.handle(slot), terms, nameHeader: keys.nameHeader(slot) };
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

function putKey(tables: Tables, slots: KeySlots, row: KeyRow): void {
  const plan = tables.plans.get(row.planId);
  // The foreign key prevents this. The feed loads an inconsistent view again.
  if (!plan) throw new Error(`the plan ${row.planId} of a key is missing`);
  const { handle, digest } = row;
  tables.keys.put(slots.slotOf(row.id), {
    handle,
    digest,
    terms: termsOf(tables, plan, row),
    nameHeader: row.name === null || row.name === '' ? undefined : encodeHeaderText(row.name),
  });
}

/** The terms of a key: those of others, when it has no property of its own. */
function termsOf(tables: Tables, plan: GatePlan, row: KeyRow): KeyTerms {
  const terms: KeyTerms = {
    environmentId: sharedText(tables, row.environmentId),
    plan,
    scope: row.scope ? new Set(row.scope) : undefined,
    addresses: row.allowedCidrs ? createAddressMatcher(row.allowedCidrs) : undefined,
    enabled: row.enabled,
    expiresAt: row.expiresAt ?? Infinity,
  };
  if (row.scope || row.allowedCidrs || row.expiresAt !== null) return terms;
  const shared = tables.sharedTerms.get(plan) ?? [];
  const equal = shared.find((each) => each.environmentId === terms.environmentId && each.enabled === terms.enabled);
  if (equal) return equal;
  tables.sharedTerms.set(plan, [...shared, terms]);
  return terms;
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
    key: (handle) => keyAt(tables, tables.keys.find(handle), handle),
    keyOf: (id) => keyAt(tables, slots.find(id)),
    hasKey: (slot) => tables.keys.has(slot),
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
    matches: (key, digest) => tables.keys.matches(key ? key.slot : 0, digest),
    position: () => position,
    beginLoad() {
      const loading = emptyTables();
      return {
        plans: (rows) => rows.forEach((row) => putPlan(loading, row)),
        apps: (rows) => rows.forEach((row) => putApp(loading, row)),
        keys: (rows) => rows.forEach((row) => putKey(loading, slots, row)),
        commit(reached) {
          tables = loading;
          for (let slot = 1; slot <= slots.last(); slot++) if (!loading.keys.has(slot)) buckets.reset(slot);
          position = reached;
        },
      };
    },
    apply({ plans, apps, keys, gone, position: reached }) {
      for (const row of plans) putPlan(tables, row);
      for (const row of apps) putApp(tables, row);
      for (const row of keys) putKey(tables, slots, row);
      for (const slot of gone.keys.map((id) => slots.find(id))) {
        tables.keys.remove(slot);
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
    size: () => ({ keys: tables.keys.count, plans: tables.plans.size, apps: tables.apps.size }),
  };
}
