import type { Changes, KeyRow, OthersRow, PlanRow, ViewPosition } from '../../../gate/authz/gate-store.ts';
import { createKeySlots } from '../../../gate/authz/key-slots.ts';
import { createSharedRates } from '../../../gate/authz/shared-rates.ts';
import { createUsage } from '../../../gate/authz/usage.ts';
import { createRequestCheck, type GateRequest, type Verdict } from '../../../gate/authz/verdict.ts';
import { createGateView } from '../../../gate/authz/view.ts';
import { createAddressMatcher } from '../../../runtime/domain/address.ts';
import { apiKeyDigest, generateApiKey } from '../../../runtime/domain/api-key.ts';
import { systemClock, type Clock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';

/** One environment's rows in the store's form, for tests of the gate without a store. */
export const environmentId = newId();
export const planId = newId();
export const app = { id: newId(), environmentId, namespace: 'shop-prod', name: 'api' };
export const otherApp = { id: newId(), environmentId, namespace: 'shop-prod', name: 'other' };
export const foreignApp = { id: newId(), environmentId: newId(), namespace: 'shop-test', name: 'api' };
/** The key of {@link keyRow}. */
export const good = generateApiKey();

export function planRow(change: Partial<PlanRow> = {}): PlanRow {
  return { id: planId, requestsPerSecond: 1, burst: 2, quotaLimit: null, quotaPeriod: null, ...change };
}

export function keyRow(change: Partial<KeyRow> = {}, { key, handle } = good): KeyRow {
  return {
    id: newId(),
    environmentId,
    handle,
    digest: apiKeyDigest(key),
    name: 'Acme',
    planId,
    scope: null,
    enabled: true,
    expiresAt: null,
    allowedCidrs: null,
    ...change,
  };
}

export function position(version = 1): ViewPosition {
  return { feed: { feedId: newId(), version, token: newId() }, usage: { version, token: newId() } };
}

/** The data that a view is loaded with. */
export interface Rows {
  plans: PlanRow[];
  keys: KeyRow[];
  apps: (typeof app)[];
  others: OthersRow[];
}

/** A change of these rows, without deletions. */
export function changeOf(rows: Partial<Changes>): Changes {
  return {
    primary: true,
    position: position(2),
    plans: [],
    keys: [],
    apps: [],
    allUsage: false,
    gone: { plans: [], keys: [], apps: [] },
    ...rows,
  };
}

/** A request check over a view that a test fills: not fresh before it is loaded and proven. */
export function bench({ trustedProxies = [], clock = systemClock }: { trustedProxies?: string[]; clock?: Clock } = {}) {
  const slots = createKeySlots();
  const [view, usage] = [createGateView(slots), createUsage(newId(), slots)];
  const rates = createSharedRates(view, slots, clock);
  const check = createRequestCheck({ view, usage, rates, trustedProxies: createAddressMatcher(trustedProxies) });
  return {
    view,
    usage,
    rates,
    check,
    slots,
    /** Loads these rows into the view, instead of one key on a plan of one request per second. */
    load(change: Partial<Rows> = {}, wall = 0) {
      const rows: Rows = {
        plans: [planRow()],
        keys: [keyRow()],
        apps: [app, otherApp, foreignApp],
        others: [],
        ...change,
      };
      const loading = view.beginLoad();
      loading.plans(rows.plans);
      loading.apps(rows.apps);
      loading.keys(rows.keys);
      loading.commit(position());
      const others = usage.readOthers();
      others.others(rows.others);
      others.commit(usage.calendar(wall), true);
    },
  };
}

/** A request with the valid key. */
export function request(change: Partial<GateRequest> = {}): GateRequest {
  return {
    appId: app.id,
    apiKey: good.key,
    method: 'GET',
    preflightMethod: undefined,
    forwardedFor: '203.0.113.7',
    ...change,
  };
}

/** The parts of a verdict that tables compare. */
export function brief(verdict: Verdict): string {
  return 'fault' in verdict ? `${verdict.decision} ${verdict.fault}` : verdict.decision;
}
