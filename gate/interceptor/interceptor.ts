import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { gateProbePath } from '../../runtime/contracts/gate-denials.ts';
import type { TrafficReport } from '../../runtime/contracts/traffic-report.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Activator } from './activator.ts';
import type { Activity } from './activity.ts';
import type { Endpoint, Endpoints } from './endpoints.ts';
import {
  failureBody,
  functionBroke,
  functionTimeout,
  functionUnreachable,
  gateProbe,
  RequestFailure,
  unknownHost,
  type Failure,
} from './failure.ts';
import { forward, isRepeatable, type Outcome } from './forward.ts';
import { requestIdOf, type Mark } from './headers.ts';
import type { FunctionFigures, InterceptorMetrics } from './metrics.ts';
import { createPodPool } from './pod-pool.ts';
import type { Routes, Target } from './routes.ts';
import type { Turns } from './turns.ts';
import { forwardUpgrade, writeRawHead } from './upgrade.ts';

/** For a client that left before its answer; nobody gets it (nginx's number). */
const clientGone = 499;

export interface InterceptorOptions {
  /** The pod name, for the report. */
  replica: string;
  routes: Routes;
  endpoints: Endpoints;
  activator: Activator;
  turns: Pick<Turns, 'wait' | 'next'>;
  activity: Activity;
  metrics: InterceptorMetrics;
  clock: Clock;
  log: Logger;
  /** How long a request may take to find a pod that takes it, from its arrival on. */
  holdMs: number;
}

/** What stands behind the port: from a request to an answer. */
export interface Interceptor {
  handle(request: IncomingMessage, response: ServerResponse): void;
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** From now on every answer ends its connection, so that clients come back to another replica. */
  beginDrain(): void;
  report(): TrafficReport;
  /** Lets go of the connections to pods. */
  close(): void;
}

/** What one request has been through. */
interface Journey {
  target: Target;
  figures: FunctionFigures;
  requestId: string;
  arrivedAt: number;
  cold: boolean;
  raisedAt?: number | undefined;
}

/** What carries a request that is on its way: an HTTP answer or a bare connection. */
interface Carrier {
  /** Whether the client has left. */
  gone(): boolean;
  onGone(listener: () => void): void;
  send(endpoint: Endpoint, mark: () => Mark, timeoutMs: number): Promise<Outcome>;
  repeatable: boolean;
  fail(failure: Failure): void;
  /** What the client got. */
  status(): number;
}

export function createInterceptor(options: InterceptorOptions): Interceptor {
  const { replica, routes, endpoints, activator, turns, activity, metrics, clock, log, holdMs } = options;
  const pool = createPodPool();
  let draining = false;

  const mark = (journey: Journey, endpoint: Endpoint): Mark => {
    const { requestId, cold } = journey;
    if (!cold) return { requestId, cold };
    journey.figures.coldStart((clock.monotonic() - journey.arrivedAt) / 1000);
    return { requestId, cold, timing: coldStartTiming(journey, endpoint, clock.monotonic()) };
  };

  const goneSignal = (carrier: Carrier): AbortSignal => {
    const gone = new AbortController();
    carrier.onGone(() => gone.abort());
    return gone.signal;
  };

  const hold = async (journey: Journey, carrier: Carrier): Promise<void> => {
    const raisedAt = await activator.hold(journey.target, journey.arrivedAt, goneSignal(carrier));
    journey.cold = true;
    journey.raisedAt ??= raisedAt;
  };

  /** Finds a pod that takes the request; a refused one costs nothing, since nothing was sent. */
  const deliver = async (journey: Journey, carrier: Carrier): Promise<string> => {
    const { target } = journey;
    for (let broken = 0; ;) {
      if (carrier.gone()) return 'client_gone';
      const endpoint = endpoints.pick(target.id);
      if (!endpoint) {
        await hold(journey, carrier);
        continue;
      }
      // The pod with the fewest is full, and so all are.
      if (endpoint.inflight >= target.limits.concurrency) {
        await turns.wait(target, journey.arrivedAt, goneSignal(carrier));
        continue;
      }
      endpoint.inflight++;
      const outcome = await carrier
        .send(endpoint, () => mark(journey, endpoint), target.limits.timeoutMs)
        .finally(() => endpoint.inflight--);
      if (outcome === 'answered') return 'answered';
      if (outcome === 'gone') return 'client_gone';
      if (outcome === 'late') throw new RequestFailure(functionTimeout(target.limits.timeoutMs));
      if (outcome === 'refused' || outcome === 'broken') endpoints.suspect(endpoint);
      if (outcome === 'refused' && clock.monotonic() - journey.arrivedAt >= holdMs) {
        throw new RequestFailure(functionUnreachable);
      }
      if (outcome === 'stale' && !carrier.repeatable) throw new RequestFailure(functionBroke);
      if (outcome === 'broken' && (!carrier.repeatable || broken++ > 0)) throw new RequestFailure(functionBroke);
    }
  };

  const run = async (target: Target, requestId: string, carrier: Carrier): Promise<void> => {
    activity.begin(target);
    const figures = metrics.of(target);
    const arrivedAt = clock.monotonic();
    let result: string;
    try {
      result = await deliver({ target, figures, requestId, arrivedAt, cold: false }, carrier);
    } catch (error) {
      if (carrier.gone()) result = 'client_gone';
      else if (error instanceof RequestFailure) {
        result = error.failure.code;
        const { namespace, name } = target;
        log.warn({ namespace, function: name, requestId, code: result, err: error.cause }, 'request failed');
        carrier.fail(error.failure);
      } else throw error;
    } finally {
      activity.end(target);
      turns.next(target.id);
    }
    const status = result === 'client_gone' ? clientGone : carrier.status();
    figures.ended({ result, status, seconds: (clock.monotonic() - arrivedAt) / 1000 });
  };

  const start = (request: IncomingMessage, carrierOf: (requestId: string) => Carrier) => {
    const requestId = requestIdOf(request);
    const carrier = carrierOf(requestId);
    const target = routes.find(request.headers.host);
    if (!target) {
      metrics.unrouted(unknownHost.code);
      carrier.fail(unknownHost);
      return;
    }
    if (request.url === gateProbePath) {
      carrier.fail(gateProbe);
      return;
    }
    run(target, requestId, carrier).catch((error: unknown) => {
      log.error({ err: error, requestId }, 'request broke the interceptor');
      carrier.fail({
        status: 500,
        code: 'internal',
        message: 'The platform failed at this request.',
        fault: 'platform',
      });
    });
  };

  return {
    handle(request, response) {
      start(request, (requestId) => ({
        gone: () => response.destroyed || response.closed,
        onGone: (listener) => response.once('close', listener),
        send: (endpoint, marked, timeoutMs) =>
          forward(pool, { request, response, endpoint, requestId, timeoutMs, mark: marked, closing: () => draining }),
        repeatable: isRepeatable(request),
        status: () => response.statusCode,
        fail(failure) {
          if (response.headersSent) response.destroy();
          else {
            const body = failureBody(failure, requestId);
            const headers = failureHeaders(failure, requestId, body, draining);
            // With its own words: those of a pod's refused head may still stick to the response.
            response.writeHead(failure.status, STATUS_CODES[failure.status] ?? '', headers).end(body);
          }
        },
      }));
    },
    handleUpgrade(request, socket, head) {
      socket.on('error', () => socket.destroy());
      let status = 101;
      start(request, (requestId) => ({
        gone: () => socket.destroyed,
        onGone: (listener) => socket.once('close', listener),
        send: (endpoint, marked, timeoutMs) =>
          forwardUpgrade({ request, socket, head, endpoint, requestId, timeoutMs, mark: marked }),
        repeatable: false,
        status: () => status,
        fail(failure) {
          status = failure.status;
          const body = failureBody(failure, requestId);
          writeRawHead(socket, failure.status, undefined, failureHeaders(failure, requestId, body, true));
          socket.end(body);
        },
      }));
    },
    beginDrain() {
      draining = true;
    },
    report: () => ({ replica, at: clock.now().toISOString(), functions: activity.report(routes.list()) }),
    close: () => pool.close(),
  };
}

function failureHeaders(failure: Failure, requestId: string, body: string, closing: boolean): string[] {
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))];
  headers.push('Cache-Control', 'no-store', 'X-Request-Id', requestId);
  if (failure.retryAfterSeconds !== undefined) headers.push('Retry-After', String(failure.retryAfterSeconds));
  if (closing) headers.push('Connection', 'close');
  return headers;
}

/** https://www.w3.org/TR/server-timing/ — each step's offset from the request's arrival, in milliseconds. */
function coldStartTiming({ arrivedAt, raisedAt }: Journey, endpoint: Endpoint, answeredAt: number): string {
  const steps: [string, number | undefined][] = [
    ['svc-raised', raisedAt],
    ['svc-address', endpoint.seenAt],
    ['svc-connect', endpoint.usableAt],
    ['svc-answer', answeredAt],
  ];
  return steps
    .flatMap(([name, at]) => (at === undefined ? [] : [`${name};dur=${Math.max(0, at - arrivedAt).toFixed(1)}`]))
    .join(', ');
}
