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

const internal: Failure = {
  status: 500,
  code: 'internal',
  message: 'The platform failed at this request.',
  fault: 'platform',
};

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
  /** Attempts at which a pod broke off. */
  broken: number;
}

/** What carries a request that is on its way: an HTTP answer or a bare connection. */
interface Carrier {
  /** Whether the client has left. */
  gone(): boolean;
  onGone(listener: () => void): void;
  /** @param settle is called once, when the attempt is over */
  send(endpoint: Endpoint, mark: () => Mark, timeoutMs: number, settle: (outcome: Outcome) => void): void;
  repeatable: boolean;
  fail(failure: Failure): void;
  /** What the client got. */
  status(): number;
}

export function createInterceptor(options: InterceptorOptions): Interceptor {
  const { replica, routes, endpoints, activator, turns, activity, metrics, clock, log, holdMs } = options;
  const pool = createPodPool();
  let draining = false;
  const closing = () => draining;

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

  /**
   * Finds a pod that takes the request; a refused one costs nothing, since nothing was sent. Without promises: most requests
   * find one at once, and each step through the queue of microtasks costs what a header does.
   */
  const seek = (journey: Journey, carrier: Carrier): void => {
    const { target } = journey;
    if (carrier.gone()) {
      end(journey, carrier, 'client_gone');
      return;
    }
    const endpoint = endpoints.pick(target.id);
    // The pod with the fewest is full, and so all are.
    if (!endpoint || endpoint.inflight >= target.limits.concurrency) {
      const free = endpoint ? turns.wait(target, journey.arrivedAt, goneSignal(carrier)) : hold(journey, carrier);
      free.then(() => seek(journey, carrier)).catch((error: unknown) => fail(journey, carrier, error));
      return;
    }
    endpoint.inflight++;
    let over = false;
    const leave = () => {
      if (!over) endpoint.inflight--;
      over = true;
    };
    const settle = (outcome: Outcome) => {
      if (over) return;
      leave();
      try {
        judge(journey, carrier, endpoint, outcome);
      } catch (error) {
        fail(journey, carrier, error);
      }
    };
    try {
      carrier.send(endpoint, () => mark(journey, endpoint), target.limits.timeoutMs, settle);
    } catch (error) {
      leave();
      throw error;
    }
  };

  /** @throws RequestFailure where there is nothing more to try */
  const judge = (journey: Journey, carrier: Carrier, endpoint: Endpoint, outcome: Outcome): void => {
    if (outcome === 'answered' || outcome === 'gone') {
      end(journey, carrier, outcome === 'gone' ? 'client_gone' : 'answered');
      return;
    }
    if (outcome === 'late') throw new RequestFailure(functionTimeout(journey.target.limits.timeoutMs));
    if (outcome === 'refused' || outcome === 'broken') endpoints.suspect(endpoint);
    if (outcome === 'refused' && clock.monotonic() - journey.arrivedAt >= holdMs) {
      throw new RequestFailure(functionUnreachable);
    }
    if (outcome === 'stale' && !carrier.repeatable) throw new RequestFailure(functionBroke);
    if (outcome === 'broken' && (!carrier.repeatable || journey.broken++ > 0)) throw new RequestFailure(functionBroke);
    seek(journey, carrier);
  };

  const end = ({ target, figures, arrivedAt }: Journey, carrier: Carrier, result: string): void => {
    activity.end(target);
    turns.next(target.id);
    const status = result === 'client_gone' ? clientGone : carrier.status();
    figures.ended(result, status, (clock.monotonic() - arrivedAt) / 1000);
  };

  const fail = (journey: Journey, carrier: Carrier, error: unknown): void => {
    const { requestId, target } = journey;
    if (carrier.gone()) {
      end(journey, carrier, 'client_gone');
      return;
    }
    const known = error instanceof RequestFailure;
    const failure = known ? error.failure : internal;
    const { namespace, name } = target;
    if (known) {
      log.warn({ namespace, function: name, requestId, code: failure.code, err: error.cause }, 'request failed');
    } else log.error({ err: error, requestId }, 'request broke the interceptor');
    carrier.fail(failure);
    end(journey, carrier, failure.code);
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
    const journey = { target, figures, requestId, arrivedAt: clock.monotonic(), cold: false, broken: 0 };
    try {
      seek(journey, carrier);
    } catch (error) {
      fail(journey, carrier, error);
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
