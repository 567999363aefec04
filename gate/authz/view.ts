import { randomBytes } from 'node:crypto';
import { createAddressMatcher, type AddressMatcher } from '../../runtime/domain/address.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { createDigestSlab, type DigestSlab } from './digest-slab.ts';
import type { AppRow, Changes, KeyRow, LoadSink, PlanRow, ViewPosition } from './gate-store.ts';
import { createHandleIndex, type HandleIndex } from './handle-index.ts';
import { createPlan, updatePlan, type GatePlan } from './plan.ts';
import type { Bucket } from './rate-limit.ts';
import type { CountedKey, OwnCounts } from './usage.ts';

/** Keys, plans and usage older than this deny everything (spec.md §8). */
export const freshnessCeilingMs = 90_000;

/**
 * A key as the verdict needs it. There may be 100,000: no field that few keys need costs the others more than a pointer,
 * and what several keys share is shared.
 */
export interface GateKey extends CountedKey {
  id: Id;
  handle: string;
  /** Where its digest is in the view's slab. */
  slot: number;
  environmentId: Id;
  /** The plan's one object: a changed plan holds for all of its keys at once. */
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
  /** Undefined, which is full, before the first request. A key whose row changes keeps it. */
  bucket: Bucket | undefined;
  counts: OwnCounts | undefined;
}

/** An app that exists, gated or not: whoever asks for it through a gate gets the key checked. */
export interface GateApp {
  environmentId: Id;
  namespace: string;
  name: string;
}

/** A whole view in the making; the one that is being judged by stays as it is until `commit`. */
export interface ViewLoad extends Omit<LoadSink, 'others'> {
  /** Replaces everything, at once. */
  commit(position: ViewPosition): void;
}

/** What one replica knows of plans, keys and apps, and how fresh it is. */
export interface GateView {
  key(handle: string): GateKey | undefined;
  plan(id: Id): GatePlan | undefined;
  app(id: string): GateApp | undefined;
  /** Whether the digest is the key's; without a key, false after the same work. */
  matches(key: GateKey | undefined, digest: Uint8Array): boolean;
  /** Up to where feed and usage were applied; undefined before the first load. */
  position(): ViewPosition | undefined;
  /** Begins to replace everything. */
  beginLoad(): ViewLoad;
  /** Applies what changed since {@link position}. @throws Error when it does not fit; load then */
  apply(changes: Pick<Changes, 'position' | 'plans' | 'keys' | 'apps' | 'gone'>): void;
  /** Everything that had been committed at this moment (monotonic ms) is in the view. */
  provenAt(monotonic: number): void;
  /** Milliseconds since the last proof; undefined before the first. */
  ageMs(monotonic: number): number | undefined;
  /** Whether the view may be used for an allow. */
  fresh(monotonic: number): boolean;
  size(): { keys: number; plans: number; apps: number };
}

/**
 * A display name as a header value: printable ASCII as it is, everything else, `%`, and spaces at the ends as
 * percent-encoded UTF-8. `decodeURIComponent` gives the name back; nothing in a name can end the header.
 */
export function encodeHeaderText(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x7e]+|%|^ +| +$/g, (part) => encodeURIComponent(part));
}

/** The rows of one view, without its history. */
interface Tables {
  plans: Map<Id, GatePlan>;
  apps: Map<Id, GateApp>;
  keysById: Map<Id, GateKey>;
  keysByHandle: HandleIndex<GateKey>;
  digests: DigestSlab;
  /** A digest that no key has; an unknown handle is compared with it, so that it takes as long as a known one. */
  nobody: number;
  /** One string for each environment, which thousands of keys share. */
  environments: Map<Id, Id>;
}

function emptyTables(): Tables {
  const digests = createDigestSlab();
  const nobody = digests.add(randomBytes(32));
  return {
    ...{ plans: new Map(), apps: new Map(), keysById: new Map(), keysByHandle: createHandleIndex() },
    ...{ digests, nobody, environments: new Map() },
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
  // The foreign key forbids it; a view that does not hold together is loaded anew.
  if (!plan) throw new Error(`the plan ${row.planId} of a key is missing`);
  const before = keysById.get(row.id);
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
    bucket: before?.bucket,
    counts: before?.counts,
  };
  keysById.set(key.id, key);
  keysByHandle.set(key.handle, key);
}

/** A load refills no bucket. */
function keepBuckets(from: Tables, to: Tables): void {
  for (const { id, bucket } of from.keysById.values()) {
    const key = bucket && to.keysById.get(id);
    if (key) key.bucket = bucket;
  }
}

/** An empty view: it knows nothing and is not fresh. */
export function createGateView(): GateView {
  let tables = emptyTables();
  let position: ViewPosition | undefined;
  let provenAt: number | undefined;

  return {
    key: (handle) => tables.keysByHandle.get(handle),
    plan: (id) => tables.plans.get(id),
    app: (id) => tables.apps.get(id),
    matches: (key, digest) => tables.digests.equals(key ? key.slot : tables.nobody, digest),
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
