import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { gateProbePath } from '../../runtime/contracts/gate-denials.ts';
import type { TrafficReport } from '../../runtime/contracts/traffic-report.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { createBodyDiscards } from '../../runtime/http/body-discard.ts';
import type { DenialLog } from '../../runtime/process/denial-log.ts';
import type { Activator } from './activator.ts';
import type { Activity } from './activity.ts';
import { httpCarrier, upgradeCarrier, type Carrier } from './carrier.ts';
import type { Endpoint, Endpoints } from './endpoints.ts';
import {
  functionBroke,
  functionHeadTooLarge,
  functionTimeout,
  functionUnreachable,
  gateProbe,
  RequestFailure,
  unknownHost,
  type Failure,
} from './failure.ts';
import type { Outcome } from './forward.ts';
import { requestIdOf, type Mark } from './headers.ts';
import type { FunctionFigures, InterceptorMetrics } from './metrics.ts';
import { isGateCheck, refuseGateCheck } from './missing-checker.ts';
import { createPodPool } from './pod-pool.ts';
import type { Routes, Target } from './routes.ts';
import type { RequestQueue } from './request-queue.ts';

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
  /** Of requests to gated routes while no checker is ready. */
  denials: Pick<DenialLog, 'record'>;
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
  carrier: Carrier;
  target: Target;
  figures: FunctionFigures;
  requestId: string;
  arrivedAt: number;
  /** Whether it was held for a pod to start. */
  cold: boolean;
  raisedAt?: number | undefined;
  /** Attempts that a pod aborted. */
  broken: number;
}

export function createInterceptor(options: InterceptorOptions): Interceptor {
  const { replica, routes, endpoints, activator, queue, activity, metrics, clock, log, holdMs } = options;
  let draining = false;
  const discards = createBodyDiscards();
  const carrying = { pool: createPodPool(), closing: () => draining, discards };

  const start = (request: IncomingMessage, requestId: string, carrier: Carrier): void => {
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
    const state = { carrier, target, figures, requestId, arrivedAt: clock.monotonic(), cold: false, broken: 0 };
    try {
      tryPod(state);
    } catch (error) {
      fail(state, error);
    }
  };

  /**
   * Finds a pod that accepts the request. It avoids promises: most requests find a pod immediately, and each microtask
   * costs as much as a header.
   */
  const tryPod = (state: RequestState): void => {
    const { carrier, target, arrivedAt } = state;
    if (carrier.gone()) {
      end(state, 'client_gone');
      return;
    }
    const endpoint = endpoints.pick(target.id);
    if (!endpoint) tryPodAfter(state, hold(state));
    // The pod with the fewest requests is at its limit, so all are.
    else if (endpoint.inflight >= target.limits.concurrency)
      tryPodAfter(state, queue.wait(target, arrivedAt, clientGoneSignal(carrier)));
    else attempt(state, endpoint);
  };

  const tryPodAfter = (state: RequestState, free: Promise<void>): void => {
    free.then(() => tryPod(state)).catch((error: unknown) => fail(state, error));
  };

  const hold = async (state: RequestState): Promise<void> => {
    const raisedAt = await activator.hold(state.target, state.arrivedAt, clientGoneSignal(state.carrier));
    state.cold = true;
    state.raisedAt ??= raisedAt;
  };

  const attempt = (state: RequestState, endpoint: Endpoint): void => {
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
        handleOutcome(state, endpoint, outcome);
      } catch (error) {
        fail(state, error);
      }
    };
    try {
      state.carrier.send(endpoint, () => mark(state, endpoint), state.target.limits.timeoutMs, settle);
    } catch (error) {
      release();
      throw error;
    }
  };

  const mark = (state: RequestState, endpoint: Endpoint): Mark => {
    const { requestId, cold } = state;
    if (!cold) return { requestId, cold };
    state.figures.coldStart((clock.monotonic() - state.arrivedAt) / 1000);
    return { requestId, cold, timing: coldStartTiming(state, endpoint, clock.monotonic()) };
  };

  /**
   * Ends the request or tries again. A refused attempt can always be repeated, because nothing was sent.
   * @throws RequestFailure when no further attempt is possible
   */
  const handleOutcome = (state: RequestState, endpoint: Endpoint, outcome: Outcome): void => {
    const { repeatable } = state.carrier;
    if (outcome === 'answered' || outcome === 'gone') {
      end(state, outcome === 'gone' ? 'client_gone' : 'answered');
      return;
    }
    if (outcome === 'late') throw new RequestFailure(functionTimeout(state.target.limits.timeoutMs));
    if (outcome === 'oversized') throw new RequestFailure(functionHeadTooLarge);
    if (outcome === 'refused' || outcome === 'broken') endpoints.suspect(endpoint);
    if (outcome === 'refused' && clock.monotonic() - state.arrivedAt >= holdMs) {
      throw new RequestFailure(functionUnreachable);
    }
    if (outcome === 'stale' && !repeatable) throw new RequestFailure(functionBroke);
    if (outcome === 'broken' && (!repeatable || state.broken++ > 0)) throw new RequestFailure(functionBroke);
    tryPod(state);
  };

  const fail = (state: RequestState, error: unknown): void => {
    const { carrier, requestId, target } = state;
    if (carrier.gone()) {
      end(state, 'client_gone');
      return;
    }
    const expected = error instanceof RequestFailure;
    const failure = expected ? error.failure : internal;
    const { namespace, name } = target;
    if (expected) {
      log.warn({ namespace, function: name, requestId, code: failure.code, err: error.cause }, 'request failed');
    } else log.error({ err: error, requestId }, 'request failed unexpectedly');
    carrier.fail(failure);
    end(state, failure.code);
  };

  const end = ({ carrier, target, figures, arrivedAt }: RequestState, result: string): void => {
    activity.end(target);
    queue.next(target.id);
    const status = result === 'client_gone' ? clientGone : carrier.status();
    figures.ended(result, status, (clock.monotonic() - arrivedAt) / 1000);
  };

  return {
    handle(request, response) {
      if (isGateCheck(request)) {
        metrics.unrouted('gate_unavailable');
        refuseGateCheck(request, response, { ...options, discards });
        return;
      }
      const requestId = requestIdOf(request);
      start(request, requestId, httpCarrier(carrying, request, response, requestId));
    },
    handleUpgrade(request, socket, head) {
      const requestId = requestIdOf(request);
      start(request, requestId, upgradeCarrier(request, socket, head, requestId));
    },
    beginDrain() {
      draining = true;
    },
    report: () => ({ replica, at: clock.now().toISOString(), functions: activity.report(routes.list()) }),
    close: () => carrying.pool.close(),
  };
}

function clientGoneSignal(carrier: Carrier): AbortSignal {
  const controller = new AbortController();
  carrier.onGone(() => controller.abort());
  return controller.signal;
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
