import type { IncomingMessage, ServerResponse } from 'node:http';
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
import type { DecisionLog } from './decision-log.ts';
import { limitField } from './limit-fields.ts';
import type { GateMetrics } from './metrics.ts';
import { policyField } from './plan.ts';
import type { RequestCheck, Verdict } from './verdict.ts';

const appQuery = `${authorizePath}?app=`;

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
const pass = ['Cache-Control', 'no-store', 'Content-Length', '0'];

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}

function deny(response: ServerResponse, { status, headers, body }: GateDenial, more: string[] = []): void {
  response.writeHead(status, [...headers, ...more]).end(body, 'latin1');
}

type LimitedVerdict = Extract<Verdict, { limits: unknown }>;

function limitHeaders({ key: { plan }, limits }: LimitedVerdict): string[] {
  return ['RateLimit-Policy', policyField(plan, limits.calendar), 'RateLimit', limitField(limits)];
}

/** Headers that the ingress adds to the client's request. The client does not get them. */
function allowHeaders(verdict: LimitedVerdict): string[] {
  const { plan, handle, nameHeader } = verdict.key;
  const policy = policyField(plan, verdict.limits.calendar);
  const limit = limitField(verdict.limits);
  const headers = ['X-Svc-Key-Prefix', handle, 'RateLimit-Policy', policy, 'RateLimit', limit, 'Content-Length', '0'];
  if (nameHeader !== undefined) headers.push('X-Svc-Key-Name', nameHeader);
  return headers;
}

function answer(response: ServerResponse, verdict: Verdict): void {
  switch (verdict.decision) {
    case 'allow':
      response.writeHead(200, allowHeaders(verdict)).end();
      return;
    case 'preflight':
      response.writeHead(200, pass).end();
      return;
    case 'deny_key':
      deny(response, invalidKey);
      return;
    case 'deny_rate':
    case 'deny_quota': {
      const retry = ['Retry-After', String(verdict.retryAfterSeconds)];
      deny(response, verdict.decision === 'deny_rate' ? rateLimited : quotaExhausted, [
        ...retry,
        ...limitHeaders(verdict),
      ]);
      return;
    }
    case 'misconfigured':
      deny(response, misconfigured);
      return;
    case 'unavailable':
      deny(response, gateUnavailable);
      return;
    default:
      verdict satisfies never;
  }
}

/**
 * Handles the ingress's forwardAuth requests. After a 2xx, the ingress forwards the client's request with the
 * `X-Svc-Key-*` headers of this response; it returns any other response to the client. An internal error denies.
 */
export function createAuthorizeHandler(dependencies: AuthorizeDependencies) {
  const { check, clock, decisions, metrics, isProbe, log } = dependencies;

  const checkRequest = (request: IncomingMessage): Verdict => {
    const { url = '', headers } = request;
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
  const isOwnProbe = ({ decision }: Verdict, { url = '', headers }: IncomingMessage): boolean => {
    if (!isProbe || decision === 'allow' || decision === 'preflight') return false;
    const sent = single(headers['x-api-key']);
    return sent !== undefined && url.startsWith(appQuery) && isProbe(sent, url.slice(appQuery.length));
  };

  return (request: IncomingMessage, response: ServerResponse): void => {
    let verdict: Verdict;
    try {
      verdict = checkRequest(request);
      answer(response, verdict);
    } catch (error) {
      log.error({ err: error }, 'authorize failed');
      if (response.headersSent) response.destroy();
      else deny(response, gateUnavailable);
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
