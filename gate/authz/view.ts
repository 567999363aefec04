import type { Id } from '../../runtime/domain/ids.ts';
import { createBucket, type Bucket, type RateLimit } from './rate-limit.ts';
import type { AppRow, ChangedRows, FeedPosition, KeyRow, PlanRow, Snapshot } from './store.ts';

/** Keys, plans and usage older than this deny everything (spec.md §8). */
export const freshnessCeilingMs = 90_000;

/** A key as the verdict needs it: everything is looked up and encoded once, when its row is read. */
export interface GateKey {
  id: Id;
  handle: string;
  digest: Buffer;
  environmentId: Id;
  /** The plan's one object: a changed plan holds for all of its keys at once. */
  plan: RateLimit;
  /** App ids; undefined for every app of the environment. */
  scope: ReadonlySet<Id> | undefined;
  enabled: boolean;
  /** Wall-clock milliseconds; Infinity for never. */
  expiresAt: number;
  bucket: Bucket;
  /** The headers of an allowed answer, as node:http takes them: name, value, name, value. */
  allowHeaders: string[];
}

/** An app that exists, gated or not: whoever asks for it through a gate gets the key checked. */
export interface GateApp {
  environmentId: Id;
  namespace: string;
  name: string;
}

/** What one replica knows of plans, keys and apps, and how fresh it is. */
export interface GateView {
  key(handle: string): GateKey | undefined;
  app(id: string): GateApp | undefined;
  /** Up to where the feed was applied; undefined before the first load. */
  position(): FeedPosition | undefined;
  /** Replaces everything; rate buckets of keys that are still there stay. */
  load(snapshot: Snapshot): void;
  /** Applies what changed since {@link position}. */
  apply(rows: ChangedRows): void;
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

/** An empty view: it knows nothing and is not fresh. */
export function createGateView(): GateView {
  let plans = new Map<Id, RateLimit>();
  let apps = new Map<Id, GateApp>();
  let keysById = new Map<Id, GateKey>();
  let keysByHandle = new Map<string, GateKey>();
  let position: FeedPosition | undefined;
  let provenAt: number | undefined;

  const putPlan = ({ id, requestsPerSecond, burst }: PlanRow) => {
    const plan = plans.get(id);
    if (plan) Object.assign(plan, { requestsPerSecond, burst });
    else plans.set(id, { requestsPerSecond, burst });
  };

  const putApp = ({ id, environmentId, namespace, name }: AppRow) => {
    apps.set(id, { environmentId, namespace, name });
  };

  const dropKey = (id: Id) => {
    const key = keysById.get(id);
    if (!key) return;
    keysById.delete(id);
    keysByHandle.delete(key.handle);
  };

  const putKey = (row: KeyRow, bucket: Bucket) => {
    const plan = plans.get(row.planId);
    // The foreign key forbids it; a view that does not hold together is loaded anew.
    if (!plan) throw new Error(`the plan ${row.planId} of a key is missing`);
    const name = row.name === null || row.name === '' ? [] : ['X-Svc-Key-Name', encodeHeaderText(row.name)];
    const key: GateKey = {
      id: row.id,
      handle: row.handle,
      digest: row.digest,
      environmentId: row.environmentId,
      plan,
      scope: row.scope ? new Set(row.scope) : undefined,
      enabled: row.enabled,
      expiresAt: row.expiresAt?.getTime() ?? Infinity,
      bucket,
      allowHeaders: ['X-Svc-Key-Prefix', row.handle, ...name, 'Cache-Control', 'no-store', 'Content-Length', '0'],
    };
    keysById.set(key.id, key);
    keysByHandle.set(key.handle, key);
  };

  return {
    key: (handle) => keysByHandle.get(handle),
    app: (id) => apps.get(id),
    position: () => position,
    load(snapshot) {
      const before = keysById;
      plans = new Map();
      apps = new Map();
      keysById = new Map();
      keysByHandle = new Map();
      for (const row of snapshot.plans) putPlan(row);
      for (const row of snapshot.apps) putApp(row);
      for (const row of snapshot.keys) putKey(row, before.get(row.id)?.bucket ?? createBucket());
      position = snapshot.position;
    },
    apply(rows) {
      for (const row of rows.plans) putPlan(row);
      for (const row of rows.apps) putApp(row);
      for (const row of rows.keys) {
        const bucket = keysById.get(row.id)?.bucket ?? createBucket();
        dropKey(row.id);
        putKey(row, bucket);
      }
      for (const id of rows.gone.keys) dropKey(id);
      for (const id of rows.gone.apps) apps.delete(id);
      for (const id of rows.gone.plans) plans.delete(id);
      position = rows.position;
    },
    provenAt(monotonic) {
      provenAt = monotonic;
    },
    ageMs: (monotonic) => (provenAt === undefined ? undefined : monotonic - provenAt),
    fresh: (monotonic) => provenAt !== undefined && monotonic - provenAt < freshnessCeilingMs,
    size: () => ({ keys: keysById.size, plans: plans.size, apps: apps.size }),
  };
}
