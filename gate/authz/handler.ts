import type { Logger } from 'pino';
import {
  authorizePath,
  gateDenial,
  gateUnavailable,
  invalidKeyBody,
  type GateDenial,
  type GateDenialCode,
} from '../../runtime/contracts/gate-denials.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { ProbeCheck } from '../../runtime/domain/gate-probe.ts';
import type { LoggedRequest } from '../../runtime/process/denial-log.ts';
import type { DecisionLog } from './decision-log.ts';
import { limitField } from './limit-fields.ts';
import type { GateMetrics } from './metrics.ts';
import { policyField } from './plan.ts';
import type { RequestCheck, Verdict } from './verdict.ts';

const appQuery = `${authorizePath}?app=`;

/** A request of the ingress, as far as a verdict and its log depend on it. */
interface AuthorizeRequest extends LoggedRequest {
  /** The path with its query. */
  url?: string | undefined;
}

/** The response to the ingress. Names and values of `headers` in turn. */
export type GateAnswer = Pick<GateDenial, 'headers' | 'body'> & { status: number };

/**
 * Answers one request. It calls `send` once, or again with a denial when `send` has thrown.
 */
export type Authorize = (request: AuthorizeRequest, send: (answer: GateAnswer) => void) => void;

export interface AuthorizeDependencies {
  check: RequestCheck;
  clock: Clock;
  decisions: DecisionLog;
  metrics: GateMetrics;
  /** Recognizes the platform's own probes of gates; undefined without their key. */
  isProbe?: ProbeCheck | undefined;
  log: Logger;
}

function denial(code: GateDenialCode, message: string): GateDenial {
  return gateDenial(code, JSON.stringify({ code, message }));
}

const invalidKey = gateDenial('invalid_key', invalidKeyBody);
const rateLimited = denial(
  'rate_limited',
  'The API key exceeded the request rate of its plan. Retry after the time in Retry-After.',
);
const quotaExhausted = denial(
  'quota_exhausted',
  'The API key has used up the quota of its plan. It works again when the next period begins.',
);
const misconfigured = denial(
  'misconfigured',
  'The API key gate of this app is misconfigured. Contact your platform administrator.',
);
const pass: GateAnswer = { status: 200, headers: ['Cache-Control', 'no-store', 'Content-Length', '0'], body: '' };

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}

type LimitedVerdict = Extract<Verdict, { limits: unknown }>;

function limitHeaders({ key: { terms }, limits }: LimitedVerdict): string[] {
  return ['RateLimit-Policy', policyField(terms.plan, limits.calendar), 'RateLimit', limitField(limits)];
}

/** Headers that the ingress adds to the client's request. The client does not get them. */
function allowHeaders(verdict: LimitedVerdict): string[] {
  const { terms, handle, nameHeader } = verdict.key;
  const policy = policyField(terms.plan, verdict.limits.calendar);
  const limit = limitField(verdict.limits);
  const headers = ['X-Svc-Key-Prefix', handle, 'RateLimit-Policy', policy, 'RateLimit', limit, 'Content-Length', '0'];
  if (nameHeader !== undefined) headers.push('X-Svc-Key-Name', nameHeader);
  return headers;
}

function answerTo(verdict: Verdict): GateAnswer {
  switch (verdict.decision) {
    case 'allow':
      return { status: 200, headers: allowHeaders(verdict), body: '' };
    case 'preflight':
      return pass;
    case 'deny_key':
      return invalidKey;
    case 'deny_rate':
    case 'deny_quota': {
      const { status, headers, body } = verdict.decision === 'deny_rate' ? rateLimited : quotaExhausted;
      const retry = ['Retry-After', String(verdict.retryAfterSeconds)];
      return { status, headers: [...headers, ...retry, ...limitHeaders(verdict)], body };
    }
    case 'misconfigured':
      return misconfigured;
    case 'unavailable':
      return gateUnavailable;
    default:
      return verdict satisfies never;
  }
}

/**
 * Handles the ingress's forwardAuth requests. After a 2xx, the ingress forwards the client's request with the
 * `X-Svc-Key-*` headers of this response; it returns any other response to the client. An internal error denies.
 */
export function createAuthorizeHandler(dependencies: AuthorizeDependencies): Authorize {
  const { check, clock, decisions, metrics, isProbe, log } = dependencies;

  const checkRequest = ({ url = '', headers }: AuthorizeRequest): Verdict => {
    return check(
      {
        appId: url.startsWith(appQuery) ? url.slice(appQuery.length) : undefined,
        // Repeated headers are joined with a comma, which no key contains.
        apiKey: single(headers['x-api-key']),
        method: single(headers['x-forwarded-method']),
        preflightMethod: headers['access-control-request-method'],
        forwardedFor: single(headers['x-forwarded-for']),
      },
      { monotonic: clock.monotonic(), wall: clock.now().getTime() },
    );
  };

  /** After the verdict, which does not depend on it: a probe is denied as any request without a key. */
  const isOwnProbe = ({ decision }: Verdict, { url = '', headers }: AuthorizeRequest): boolean => {
    if (!isProbe || decision === 'allow' || decision === 'preflight') return false;
    const sent = single(headers['x-api-key']);
    return sent !== undefined && url.startsWith(appQuery) && isProbe(sent, url.slice(appQuery.length));
  };

  return (request, send) => {
    let verdict: Verdict;
    try {
      verdict = checkRequest(request);
      send(answerTo(verdict));
    } catch (error) {
      log.error({ err: error }, 'authorize failed');
      send(gateUnavailable);
      metrics.decided('unavailable');
      return;
    }
    if (isOwnProbe(verdict, request)) {
      metrics.probed();
      return;
    }
    metrics.decided(verdict.decision);
    decisions.record(verdict, request);
  };
}
