import { clientAddress, createAddressMatcher, type AddressMatcher } from '../../runtime/domain/address.ts';
import { apiKeyDigest, parseApiKey } from '../../runtime/domain/api-key.ts';
import type { CalendarDay } from '../../runtime/domain/period.ts';
import { createBucket, secondsToFull, takeToken, tokensLeft } from './rate-limit.ts';
import type { Usage } from './usage.ts';
import type { GateApp, GateKey, GateView } from './view.ts';

/** One request to a gated route, as the ingress reports it. */
export interface GateRequest {
  /** From the forwardAuth URL. */
  appId: string | undefined;
  /** The `X-API-Key` header as it came; several of them joined. */
  apiKey: string | undefined;
  /** The client's method. */
  method: string | undefined;
  /** The `Access-Control-Request-Method` header. */
  preflightMethod: string | undefined;
  /** The `X-Forwarded-For` header: the chain of hops up to the one that the ingress saw. */
  forwardedFor: string | undefined;
}

/** Why a key was refused: for operators in the log, never for the client. */
export type KeyFault =
  'missing' | 'malformed' | 'unknown' | 'other_environment' | 'disabled' | 'expired' | 'out_of_scope' | 'address';

/** What a judged key has left, in requests and whole seconds. */
export interface Limits {
  rateLeft: number;
  /** Until the burst is whole again; for a denial by the rate, until there is a token. */
  rateReset: number;
  /** Undefined without a quota. */
  quota: { left: number; reset: number } | undefined;
  calendar: CalendarDay;
}

export type Verdict =
  | { decision: 'allow'; app: GateApp; key: GateKey; limits: Limits }
  | { decision: 'preflight'; app: GateApp }
  /** `handle` only when the key was well-formed. */
  | { decision: 'deny_key'; app: GateApp; fault: KeyFault; handle: string | undefined }
  | { decision: 'deny_rate' | 'deny_quota'; app: GateApp; key: GateKey; limits: Limits; retryAfterSeconds: number }
  | { decision: 'misconfigured' }
  | { decision: 'unavailable' };

export type Decision = Verdict['decision'];

/** The two readings of the clock that one verdict is made with. */
export interface Moment {
  /** Monotonic milliseconds: freshness and rates. */
  monotonic: number;
  /** Wall-clock milliseconds: expiry and quotas. */
  wall: number;
}

/** What verdicts are made of. */
export interface JudgeDependencies {
  view: GateView;
  usage: Usage;
  /** Proxies whose word on the hop before them counts. */
  trustedProxies: AddressMatcher;
}

/** Judges one request, and counts what it takes. */
export type Judge = (request: GateRequest, moment: Moment) => Verdict;

/** Stands in for the allow-list of keys that have none, where a refusal has to take the same time. */
const someAddresses = createAddressMatcher(['192.0.2.0/24', '2001:db8::/32']);

/**
 * The verdicts of spec.md §7.1, in design.md §6's order: freshness, the app, cheap refusals of what cannot be a key, the
 * secret, the key's state, quota, rate. Only an allowed request takes a token or counts against the quota. A refused key
 * costs the same work whatever it was refused for, so that the time of an answer tells no more than the answer.
 */
export function createJudge({ view, usage, trustedProxies }: JudgeDependencies): Judge {
  const refuse = (app: GateApp, fault: KeyFault, handle: string | undefined): Verdict => {
    return { decision: 'deny_key', app, fault, handle };
  };

  /** Judges quota and rate of a key that may open the app. */
  const limit = (app: GateApp, key: GateKey, { monotonic, wall }: Moment): Verdict => {
    const { plan } = key;
    const calendar = usage.calendar(wall);
    const limits: Limits = { rateLeft: 0, rateReset: 0, quota: undefined, calendar };
    if (plan.quota) {
      const { limit, period } = plan.quota;
      const reset = Math.max(1, Math.ceil((calendar.end[period] - wall) / 1000));
      const left = limit - usage.allowed(key, period, calendar);
      limits.quota = { left: Math.max(0, left - 1), reset };
      if (left <= 0) {
        usage.countQuotaDenied(key, calendar);
        limits.rateLeft = tokensLeft(key.bucket, plan, monotonic);
        limits.rateReset = secondsToFull(key.bucket, plan, monotonic);
        return { decision: 'deny_quota', app, key, limits, retryAfterSeconds: reset };
      }
    }
    const bucket = (key.bucket ??= createBucket());
    const retryAfterSeconds = takeToken(bucket, plan, monotonic);
    if (retryAfterSeconds > 0) {
      usage.countRateDenied(key, calendar);
      limits.rateReset = retryAfterSeconds;
      if (limits.quota) limits.quota.left++;
      return { decision: 'deny_rate', app, key, limits, retryAfterSeconds };
    }
    usage.countAllowed(key, calendar);
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

    if (!apiKey) return refuse(app, 'missing', undefined);
    const handle = parseApiKey(apiKey)?.handle;
    if (handle === undefined) return refuse(app, 'malformed', undefined);
    const key = view.key(handle);
    const proven = view.matches(key, apiKeyDigest(apiKey));
    const addressed = !key?.addresses || key.addresses(clientAddress(forwardedFor, trustedProxies));
    if (key && proven && addressed && opens(key, app, appId, moment.wall)) return limit(app, key, moment);

    if (!key?.addresses) someAddresses(clientAddress(forwardedFor, trustedProxies));
    if (!key || !proven) return refuse(app, 'unknown', handle);
    return refuse(app, stateFault(key, app, appId, moment.wall) ?? 'address', handle);
  };
}

function opens(key: GateKey, app: GateApp, appId: string, wall: number): boolean {
  return (
    key.environmentId === app.environmentId &&
    key.enabled &&
    key.expiresAt > wall &&
    (key.scope === undefined || key.scope.has(appId))
  );
}

/** Why a key does not open the app, but for the client's address. */
function stateFault(key: GateKey, app: GateApp, appId: string, wall: number): KeyFault | undefined {
  if (key.environmentId !== app.environmentId) return 'other_environment';
  if (!key.enabled) return 'disabled';
  if (key.expiresAt <= wall) return 'expired';
  if (key.scope && !key.scope.has(appId)) return 'out_of_scope';
  return undefined;
}
