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
import type { RequestQueue } from './request-queue.ts';
import { forwardUpgrade, writeRawHead } from './upgrade.ts';

const internal: Failure = {
  status: 500,
  code: 'internal',
  message: 'The platform failed to handle this request.',
  fault: 'platform',
};

/** The status in metrics when the client disconnects before the response (nginx's 499). */
const clientGone = 499;

export interface InterceptorOptions {
  /** The pod's name, for the report. */
  replica: string;
  routes: Routes;
  endpoints: Endpoints;
  activator: Activator;
  queue: Pick<RequestQueue, 'wait' | 'next'>;
  activity: Activity;
  metrics: InterceptorMetrics;
  clock: Clock;
  log: Logger;
  /** Maximum time to find a pod for a request, from its arrival, in ms. */
  holdMs: number;
}

/** Handles requests from their arrival to the response. */
export interface Interceptor {
  handle(request: IncomingMessage, response: ServerResponse): void;
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** From now on, every response closes its connection, so that clients reconnect to another replica. */
  beginDrain(): void;
  report(): TrafficReport;
  /** Closes the connections to pods. */
  close(): void;
}

/** The state of one request. */
interface RequestState {
  target: Target;
  figures: FunctionFigures;
  requestId: string;
  arrivedAt: number;
  cold: boolean;
  raisedAt?: number | undefined;
  /** Attempts that a pod aborted. */
  broken: number;
}

/** Transports a request: HTTP, or a connection after an upgrade. */
interface Carrier {
  /** Whether the client has disconnected. */
  gone(): boolean;
  onGone(listener: () => void): void;
  /** @param settle called once, at the end of the attempt */
  send(endpoint: Endpoint, mark: () => Mark, timeoutMs: number, settle: (outcome: Outcome) => void): void;
  repeatable: boolean;
  fail(failure: Failure): void;
  /** The status that the client got. */
  status(): number;
}

export function createInterceptor(options: InterceptorOptions): Interceptor {
  const { replica, routes, endpoints, activator, queue, activity, metrics, clock, log, holdMs } = options;
  const pool = createPodPool();
  let draining = false;
  const closing = () => draining;

  const mark = (state: RequestState, endpoint: Endpoint): Mark => {
    const { requestId, cold } = state;
    if (!cold) return { requestId, cold };
    state.figures.coldStart((clock.monotonic() - state.arrivedAt) / 1000);
    return { requestId, cold, timing: coldStartTiming(state, endpoint, clock.monotonic()) };
  };

  const clientGoneSignal = (carrier: Carrier): AbortSignal => {
    const controller = new AbortController();
    carrier.onGone(() => controller.abort());
    return controller.signal;
  };

  const hold = async (state: RequestState, carrier: Carrier): Promise<void> => {
    const raisedAt = await activator.hold(state.target, state.arrivedAt, clientGoneSignal(carrier));
    state.cold = true;
    state.raisedAt ??= raisedAt;
  };

  /**
   * Finds a pod that accepts the request. A refused attempt can be repeated, because nothing was sent. It avoids
   * promises: most requests find a pod immediately, and each microtask costs as much as a header.
   */
  const tryPod = (state: RequestState, carrier: Carrier): void => {
    const { target } = state;
    if (carrier.gone()) {
      end(state, carrier, 'client_gone');
      return;
    }
    const endpoint = endpoints.pick(target.id);
    // The pod with the fewest requests is at its limit, so all are.
    if (!endpoint || endpoint.inflight >= target.limits.concurrency) {
      const free = endpoint ? queue.wait(target, state.arrivedAt, clientGoneSignal(carrier)) : hold(state, carrier);
      free.then(() => tryPod(state, carrier)).catch((error: unknown) => fail(state, carrier, error));
      return;
    }
    endpoint.inflight++;
    let over = false;
    const release = () => {
      if (!over) endpoint.inflight--;
      over = true;
    };
    const settle = (outcome: Outcome) => {
      if (over) return;
      release();
      try {
        handleOutcome(state, carrier, endpoint, outcome);
      } catch (error) {
        fail(state, carrier, error);
      }
    };
    try {
      carrier.send(endpoint, () => mark(state, endpoint), target.limits.timeoutMs, settle);
    } catch (error) {
      release();
      throw error;
    }
  };

  /** @throws RequestFailure when no further attempt is possible */
  const handleOutcome = (state: RequestState, carrier: Carrier, endpoint: Endpoint, outcome: Outcome): void => {
    if (outcome === 'answered' || outcome === 'gone') {
      end(state, carrier, outcome === 'gone' ? 'client_gone' : 'answered');
      return;
    }
    if (outcome === 'late') throw new RequestFailure(functionTimeout(state.target.limits.timeoutMs));
    if (outcome === 'refused' || outcome === 'broken') endpoints.suspect(endpoint);
    if (outcome === 'refused' && clock.monotonic() - state.arrivedAt >= holdMs) {
      throw new RequestFailure(functionUnreachable);
    }
    if (outcome === 'stale' && !carrier.repeatable) throw new RequestFailure(functionBroke);
    if (outcome === 'broken' && (!carrier.repeatable || state.broken++ > 0)) throw new RequestFailure(functionBroke);
    tryPod(state, carrier);
  };

  const end = ({ target, figures, arrivedAt }: RequestState, carrier: Carrier, result: string): void => {
    activity.end(target);
    queue.next(target.id);
    const status = result === 'client_gone' ? clientGone : carrier.status();
    figures.ended(result, status, (clock.monotonic() - arrivedAt) / 1000);
  };

  const fail = (state: RequestState, carrier: Carrier, error: unknown): void => {
    const { requestId, target } = state;
    if (carrier.gone()) {
      end(state, carrier, 'client_gone');
      return;
    }
    const expected = error instanceof RequestFailure;
    const failure = expected ? error.failure : internal;
    const { namespace, name } = target;
    if (expected) {
      log.warn({ namespace, function: name, requestId, code: failure.code, err: error.cause }, 'request failed');
    } else log.error({ err: error, requestId }, 'request failed unexpectedly');
    carrier.fail(failure);
    end(state, carrier, failure.code);
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
    activity.begin(target);
    const figures = metrics.of(target);
    const state = { target, figures, requestId, arrivedAt: clock.monotonic(), cold: false, broken: 0 };
    try {
      tryPod(state, carrier);
    } catch (error) {
      fail(state, carrier, error);
    }
  };

  return {
    handle(request, response) {
      start(request, (requestId) => ({
        gone: () => response.destroyed || response.closed,
        onGone: (listener) => response.once('close', listener),
        send: (endpoint, marked, timeoutMs, settle) =>
          forward(pool, { request, response, endpoint, requestId, timeoutMs, mark: marked, closing }, settle),
        repeatable: isRepeatable(request),
        status: () => response.statusCode,
        fail(failure) {
          if (response.headersSent) response.destroy();
          else {
            const body = failureBody(failure, requestId);
            const headers = failureHeaders(failure, requestId, body, draining);
            // With its own reason phrase, because that of a pod's rejected head may still be set on the response.
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
        send: (endpoint, marked, timeoutMs, settle) =>
          forwardUpgrade({ request, socket, head, endpoint, requestId, timeoutMs, mark: marked }, settle),
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

/** The offset of each step from the request's arrival, in milliseconds. https://www.w3.org/TR/server-timing/ */
function coldStartTiming({ arrivedAt, raisedAt }: RequestState, endpoint: Endpoint, answeredAt: number): string {
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
