import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { DecisionLog } from './decision-log.ts';
import type { GateMetrics } from './metrics.ts';
import { decide, type Verdict } from './verdict.ts';
import type { GateView } from './view.ts';

/** What the ingress asks: its forwardAuth address is this and the app's id, exactly so. */
export const authorizePath = '/authorize';
const appQuery = `${authorizePath}?app=`;

export interface AuthorizeDependencies {
  view: GateView;
  clock: Clock;
  decisions: DecisionLog;
  metrics: GateMetrics;
  log: Logger;
}

interface Denial {
  status: number;
  body: string;
  headers: string[];
}

/**
 * An answer of spec.md §7.1, made once: all denials of a kind are the same bytes. Any page may read them, since they
 * say nothing that a key's holder does not know.
 */
function denial(status: number, code: string, message: string): Denial {
  const body = JSON.stringify({ code, message });
  const headers = [
    ...['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))],
    ...['Cache-Control', 'no-store'],
    ...['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', 'Retry-After'],
  ];
  return { status, body, headers };
}

const invalidKey = denial(401, 'invalid_key', 'Send an API key that is valid for this app in the X-API-Key header.');
const rateLimited = denial(429, 'rate_limited', 'This API key is over the request rate of its plan; slow down.');
const unavailable = denial(
  503,
  'gate_unavailable',
  'The API-key checker svc-authz cannot verify keys right now; try again shortly.',
);
const misconfigured = denial(
  500,
  'misconfigured',
  "The API-key gate of this app is misconfigured; tell the platform's operator.",
);
const unavailableRetrySeconds = 10;
const pass = ['Cache-Control', 'no-store', 'Content-Length', '0'];

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}

function deny(response: ServerResponse, { status, headers, body }: Denial, retryAfterSeconds?: number): void {
  response
    .writeHead(
      status,
      retryAfterSeconds === undefined ? headers : [...headers, 'Retry-After', String(retryAfterSeconds)],
    )
    .end(body);
}

function answer(response: ServerResponse, verdict: Verdict): void {
  switch (verdict.decision) {
    case 'allow':
      response.writeHead(200, verdict.key.allowHeaders).end();
      return;
    case 'preflight':
      response.writeHead(200, pass).end();
      return;
    case 'deny_key':
      deny(response, invalidKey);
      return;
    case 'deny_rate':
      deny(response, rateLimited, verdict.retryAfterSeconds);
      return;
    case 'misconfigured':
      deny(response, misconfigured);
      return;
    case 'unavailable':
      deny(response, unavailable, unavailableRetrySeconds);
      return;
    default:
      verdict satisfies never;
  }
}

/**
 * Answers the ingress's forwardAuth: 2xx lets the client's request through, with the answer's `X-Svc-Key-*` headers
 * added to it; everything else goes to the client as it is. Whatever goes wrong in here denies.
 */
export function createAuthorizeHandler(dependencies: AuthorizeDependencies) {
  const { view, clock, decisions, metrics, log } = dependencies;

  const judge = (request: IncomingMessage): Verdict => {
    const { url = '', headers } = request;
    return decide(
      view,
      {
        appId: url.startsWith(appQuery) ? url.slice(appQuery.length) : undefined,
        // Several headers arrive joined by a comma, which no key has.
        apiKey: single(headers['x-api-key']),
        method: single(headers['x-forwarded-method']),
        preflightMethod: headers['access-control-request-method'],
      },
      { monotonic: clock.monotonic(), wall: clock.now().getTime() },
    );
  };

  return (request: IncomingMessage, response: ServerResponse): void => {
    let verdict: Verdict;
    try {
      verdict = judge(request);
      answer(response, verdict);
    } catch (error) {
      log.error({ err: error }, 'authorize failed');
      if (response.headersSent) response.destroy();
      else deny(response, unavailable, unavailableRetrySeconds);
      metrics.decided('unavailable');
      return;
    }
    metrics.decided(verdict.decision);
    decisions.record(verdict, {
      forwardedFor: single(request.headers['x-forwarded-for']),
      peer: request.socket.remoteAddress,
    });
  };
}
