import { clientAddress, createAddressMatcher, type AddressMatcher } from '../../runtime/domain/address.ts';
import { apiKeyDigest, parseApiKey } from '../../runtime/domain/api-key.ts';
import type { CalendarDay } from '../../runtime/domain/period.ts';
import { secondsToFull, takeToken, tokensLeft } from './rate-limit.ts';
import type { SharedRates } from './shared-rates.ts';
import type { Usage } from './usage.ts';
import type { GateApp, GateKey, GateView } from './view.ts';

/** One request to a gated route, as reported by the ingress. */
export interface GateRequest {
  /** From the forwardAuth URL. */
  appId: string | undefined;
  /** The `X-API-Key` header; repeated headers are joined. */
  apiKey: string | undefined;
  /** The client's method. */
  method: string | undefined;
  /** The `Access-Control-Request-Method` header. */
  preflightMethod: string | undefined;
  /** The `X-Forwarded-For` header: the chain of hops up to the one that the ingress saw. */
  forwardedFor: string | undefined;
}

/** Why a key was denied. For the log only; clients never see it. */
export type KeyFault =
  'missing' | 'malformed' | 'unknown' | 'other_environment' | 'disabled' | 'expired' | 'out_of_scope' | 'address';

/** What remains of a key's limits, in requests and whole seconds. */
export interface Limits {
  rateLeft: number;
  /** Until the burst is full; after a denial by rate, until the next token. */
  rateReset: number;
  /** Undefined without a quota. */
  quota: { left: number; reset: number } | undefined;
  calendar: CalendarDay;
}

export type Verdict =
  | { decision: 'allow'; app: GateApp; key: GateKey; limits: Limits }
  | { decision: 'preflight'; app: GateApp }
  /** `handle` is set when the key is well-formed. */
  | { decision: 'deny_key'; app: GateApp; fault: KeyFault; handle: string | undefined }
  | { decision: 'deny_rate' | 'deny_quota'; app: GateApp; key: GateKey; limits: Limits; retryAfterSeconds: number }
  | { decision: 'misconfigured' }
  | { decision: 'unavailable' };

export type Decision = Verdict['decision'];

/** The time of a request on both clocks. */
interface Moment {
  /** Monotonic milliseconds: freshness and rates. */
  monotonic: number;
  /** Wall-clock milliseconds: expiry and quotas. */
  wall: number;
}

export interface RequestCheckDependencies {
  view: GateView;
  usage: Usage;
  rates: Pick<SharedRates, 'replicas' | 'took'>;
  /** Proxies that are trusted to report the previous hop. */
  trustedProxies: AddressMatcher;
}

/** Decides on one request, and counts it. */
export type RequestCheck = (request: GateRequest, moment: Moment) => Verdict;

/**
 * When to retry after `rate_limited`, for every plan (docs/reference/gate.md#verdicts). `RateLimit` has the time of the
 * next token, which is longer for a plan of less than one request per second.
 */
const rateRetrySeconds = 1;

/** Replaces a missing allow-list in denials, so that they take the same time. */
const someAddresses = createAddressMatcher(['192.0.2.0/24', '2001:db8::/32']);

/**
 * Checks, in this order: freshness, the app, the form of the key, its secret, its state, quota, rate
 * (docs/reference/gate.md#verdicts). Only allowed requests take a token and count against the quota. A denied key takes
 * the same work for every fault, so that the response time does not reveal the fault.
 */
export function createRequestCheck({ view, usage, rates, trustedProxies }: RequestCheckDependencies): RequestCheck {
  const denyKey = (app: GateApp, fault: KeyFault, handle: string | undefined): Verdict => {
    return { decision: 'deny_key', app, fault, handle };
  };

  /** Checks quota and rate of a valid key. */
  const checkLimits = (app: GateApp, key: GateKey, { monotonic, wall }: Moment): Verdict => {
    const { plan } = key.terms;
    const calendar = usage.calendar(wall);
    const limits: Limits = { rateLeft: 0, rateReset: 0, quota: undefined, calendar };
    if (plan.quota) {
      const { limit, period } = plan.quota;
      const reset = Math.max(1, Math.ceil((calendar.end[period] - wall) / 1000));
      const remaining = limit - usage.allowed(key.slot, period, calendar);
      limits.quota = { left: Math.max(0, remaining - 1), reset };
      if (remaining <= 0) {
        usage.countQuotaDenied(key.slot, calendar);
        limits.rateLeft = tokensLeft(view.bucket(key), plan, monotonic);
        limits.rateReset = secondsToFull(view.bucket(key), plan, monotonic);
        return { decision: 'deny_quota', app, key, limits, retryAfterSeconds: reset };
      }
    }
    const bucket = view.bucket(key);
    const rateReset = takeToken(bucket, plan, monotonic, rates.replicas());
    view.keepBucket(key, bucket);
    if (rateReset > 0) {
      usage.countRateDenied(key.slot, calendar);
      limits.rateReset = rateReset;
      if (limits.quota) limits.quota.left++;
      return { decision: 'deny_rate', app, key, limits, retryAfterSeconds: rateRetrySeconds };
    }
    rates.took(key, bucket);
    usage.countAllowed(key.slot, calendar);
    limits.rateLeft = tokensLeft(bucket, plan, monotonic);
    limits.rateReset = secondsToFull(bucket, plan, monotonic);
    return { decision: 'allow', app, key, limits };
  };

  return (request, moment) => {
    if (!view.fresh(moment.monotonic)) return { decision: 'unavailable' };
    const { appId, apiKey, forwardedFor } = request;
    const app = appId === undefined ? undefined : view.app(appId);
    if (!app || appId === undefined) return { decision: 'misconfigured' };
    if (request.method === 'OPTIONS' && request.preflightMethod) return { decision: 'preflight', app };

    if (!apiKey) return denyKey(app, 'missing', undefined);
    const handle = parseApiKey(apiKey)?.handle;
    if (handle === undefined) return denyKey(app, 'malformed', undefined);
    const key = view.key(handle);
    const matches = view.matches(key, apiKeyDigest(apiKey));
    const addresses = key?.terms.addresses;
    const allowedAddress = !addresses || addresses(clientAddress(forwardedFor, trustedProxies));
    if (key && matches && allowedAddress && isValidFor(key, app, appId, moment.wall))
      return checkLimits(app, key, moment);

    if (!addresses) someAddresses(clientAddress(forwardedFor, trustedProxies));
    if (!key || !matches) return denyKey(app, 'unknown', handle);
    return denyKey(app, stateFault(key, app, appId, moment.wall) ?? 'address', handle);
  };
}

function isValidFor({ terms }: GateKey, app: GateApp, appId: string, wall: number): boolean {
  return (
    terms.environmentId === app.environmentId &&
    terms.enabled &&
    terms.expiresAt > wall &&
    (terms.scope === undefined || terms.scope.has(appId))
  );
}

/** Why a key is not valid for the app, apart from the client's address. */
function stateFault({ terms }: GateKey, app: GateApp, appId: string, wall: number): KeyFault | undefined {
  if (terms.environmentId !== app.environmentId) return 'other_environment';
  if (!terms.enabled) return 'disabled';
  if (terms.expiresAt <= wall) return 'expired';
  if (terms.scope && !terms.scope.has(appId)) return 'out_of_scope';
  return undefined;
}
