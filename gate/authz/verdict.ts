import { randomBytes, timingSafeEqual } from 'node:crypto';
import { apiKeyDigest, parseApiKey } from '../../runtime/domain/api-key.ts';
import { takeToken } from './rate-limit.ts';
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
}

/** Why a key was refused: for operators in the log, never for the client. */
export type KeyFault =
  'missing' | 'malformed' | 'unknown' | 'other_environment' | 'disabled' | 'expired' | 'out_of_scope';

export type Verdict =
  | { decision: 'allow'; app: GateApp; key: GateKey }
  | { decision: 'preflight'; app: GateApp }
  /** `handle` only when the key was well-formed. */
  | { decision: 'deny_key'; app: GateApp; fault: KeyFault; handle: string | undefined }
  | { decision: 'deny_rate'; app: GateApp; key: GateKey; retryAfterSeconds: number }
  | { decision: 'misconfigured' }
  | { decision: 'unavailable' };

export type Decision = Verdict['decision'];

/** The two readings of the clock that one verdict is made with. */
export interface Moment {
  /** Monotonic milliseconds: freshness and rates. */
  monotonic: number;
  /** Wall-clock milliseconds: expiry. */
  wall: number;
}

/** No key has this digest; an unknown handle is compared with it, so that it takes as long as a known one. */
const noDigest = randomBytes(32);

/**
 * Judges one request; the only thing that it changes is the rate bucket of an otherwise good key. The order is
 * design.md §6's: cheap refusals first, and nothing about a key's state before its secret has been proven.
 */
export function decide(view: GateView, request: GateRequest, moment: Moment): Verdict {
  if (!view.fresh(moment.monotonic)) return { decision: 'unavailable' };
  const app = request.appId === undefined ? undefined : view.app(request.appId);
  if (!app || request.appId === undefined) return { decision: 'misconfigured' };
  if (request.method === 'OPTIONS' && request.preflightMethod) return { decision: 'preflight', app };

  const refuse = (fault: KeyFault, handle?: string): Verdict => ({ decision: 'deny_key', app, fault, handle });
  if (!request.apiKey) return refuse('missing');
  const parsed = parseApiKey(request.apiKey);
  if (!parsed) return refuse('malformed');
  const { handle } = parsed;
  const key = view.key(handle);
  const same = timingSafeEqual(apiKeyDigest(request.apiKey), key?.digest ?? noDigest);
  if (!key || !same) return refuse('unknown', handle);
  if (key.environmentId !== app.environmentId) return refuse('other_environment', handle);
  if (!key.enabled) return refuse('disabled', handle);
  if (key.expiresAt <= moment.wall) return refuse('expired', handle);
  if (key.scope && !key.scope.has(request.appId)) return refuse('out_of_scope', handle);
  const retryAfterSeconds = takeToken(key.bucket, key.plan, moment.monotonic);
  if (retryAfterSeconds > 0) return { decision: 'deny_rate', app, key, retryAfterSeconds };
  return { decision: 'allow', app, key };
}
