import { randomBytes } from 'node:crypto';
import { createAddressMatcher, type AddressMatcher } from '../../runtime/domain/address.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { createDigestSlab, type DigestSlab } from './digest-slab.ts';
import type { AppRow, Changes, KeyRow, LoadSink, PlanRow, ViewPosition } from './gate-store.ts';
import { createPlan, updatePlan, type GatePlan } from './plan.ts';
import type { Bucket } from './rate-limit.ts';
import type { CountedKey, OwnCounts } from './usage.ts';

/** Maximum age of keys, plans and usage; beyond it, every request is denied (docs/reference/gate.md#freshness). */
export const freshnessCeilingMs = 90_000;

/** A key in memory. There may be 100,000: rarely used fields are references, and keys share equal values. */
export interface GateKey extends CountedKey {
  id: Id;
  handle: string;
  /** The slot of its digest in the slab. */
  slot: number;
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
  /** Undefined (full) before the first request. It survives changes of the key. */
  bucket: Bucket | undefined;
  counts: OwnCounts | undefined;
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
  keysById: Map<Id, GateKey>;
  keysByHandle: Map<string, GateKey>;
  digests: DigestSlab;
  /** The slot of a random digest. Unknown handles are compared with it, so that they take the same time. */
  decoySlot: number;
  /** One string per environment id, which its keys share. */
  environments: Map<Id, Id>;
}

function emptyTables(): Tables {
  const digests = createDigestSlab();
  const decoySlot = digests.add(randomBytes(32));
  return {
    plans: new Map(),
    apps: new Map(),
    keysById: new Map(),
    keysByHandle: new Map(),
    digests,
    decoySlot,
    environments: new Map(),
  };
}

function putPlan({ plans }: Tables, row: PlanRow): void {
  const plan = plans.get(row.id);
  if (plan) updatePlan(plan, row);
  else plans.set(row.id, createPlan(row));
}

function putApp({ apps }: Tables, { id, environmentId, namespace, name }: AppRow): void {
  apps.set(id, { environmentId, namespace, name });
}

function dropKey({ keysById, keysByHandle, digests }: Tables, id: Id): void {
  const key = keysById.get(id);
  if (!key) return;
  keysById.delete(id);
  keysByHandle.delete(key.handle);
  digests.remove(key.slot);
}

function putKey(tables: Tables, row: KeyRow): void {
  const { plans, environments, digests, keysById, keysByHandle } = tables;
  const plan = plans.get(row.planId);
  // The foreign key prevents this. The feed loads an inconsistent view again.
  if (!plan) throw new Error(`the plan ${row.planId} of a key is missing`);
  const previous = keysById.get(row.id);
  dropKey(tables, row.id);
  const environmentId = environments.get(row.environmentId) ?? row.environmentId;
  environments.set(environmentId, environmentId);
  const key: GateKey = {
    id: row.id,
    handle: row.handle,
    slot: digests.add(row.digest),
    environmentId,
    plan,
    scope: row.scope ? new Set(row.scope) : undefined,
    addresses: row.allowedCidrs ? createAddressMatcher(row.allowedCidrs) : undefined,
    enabled: row.enabled,
    expiresAt: row.expiresAt ?? Infinity,
    nameHeader: row.name === null || row.name === '' ? undefined : encodeHeaderText(row.name),
    bucket: previous?.bucket,
    counts: previous?.counts,
  };
  keysById.set(key.id, key);
  keysByHandle.set(key.handle, key);
}

/** Keeps the buckets over a load, which would otherwise refill them. */
function keepBuckets(from: Tables, to: Tables): void {
  for (const { id, bucket } of from.keysById.values()) {
    const key = bucket && to.keysById.get(id);
    if (key) key.bucket = bucket;
  }
}

/** Creates an empty view, which is not fresh. */
export function createGateView(): GateView {
  let tables = emptyTables();
  let position: ViewPosition | undefined;
  let provenAt: number | undefined;

  return {
    key: (handle) => tables.keysByHandle.get(handle),
    plan: (id) => tables.plans.get(id),
    app: (id) => tables.apps.get(id),
    matches: (key, digest) => tables.digests.equals(key ? key.slot : tables.decoySlot, digest),
    position: () => position,
    beginLoad() {
      const loading = emptyTables();
      return {
        plans: (rows) => rows.forEach((row) => putPlan(loading, row)),
        apps: (rows) => rows.forEach((row) => putApp(loading, row)),
        keys: (rows) => rows.forEach((row) => putKey(loading, row)),
        commit(reached) {
          keepBuckets(tables, loading);
          tables = loading;
          position = reached;
        },
      };
    },
    apply({ plans, apps, keys, gone, position: reached }) {
      for (const row of plans) putPlan(tables, row);
      for (const row of apps) putApp(tables, row);
      for (const row of keys) putKey(tables, row);
      for (const id of gone.keys) dropKey(tables, id);
      for (const id of gone.apps) tables.apps.delete(id);
      for (const id of gone.plans) tables.plans.delete(id);
      position = reached;
    },
    provenAt(monotonic) {
      provenAt = monotonic;
    },
    ageMs: (monotonic) => (provenAt === undefined ? undefined : monotonic - provenAt),
    fresh: (monotonic) => provenAt !== undefined && monotonic - provenAt < freshnessCeilingMs,
    size: () => ({ keys: tables.keysById.size, plans: tables.plans.size, apps: tables.apps.size }),
  };
}
