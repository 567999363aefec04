import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { BodyDiscards } from '../../runtime/http/body-discard.ts';
import type { Endpoint } from './endpoints.ts';
import { failureBody, type Failure } from './failure.ts';
import { forward, isRepeatable, type Outcome } from './forward.ts';
import { hasBody, type Mark } from './headers.ts';
import type { PodPool } from './pod-pool.ts';
import { forwardUpgrade, writeRawHead } from './upgrade.ts';

/** Transports one request to pods and the response to the client: HTTP, or a connection after an upgrade. */
export interface Carrier {
  /** Whether the client has disconnected. */
  gone(): boolean;
  onGone(listener: () => void): void;
  /** @param settle called once, at the end of the attempt */
  send(endpoint: Endpoint, mark: () => Mark, timeoutMs: number, settle: (outcome: Outcome) => void): void;
  /** Whether the request can be sent again after a pod aborted it. */
  readonly repeatable: boolean;
  /** Responds with the failure; a response that has started is cut off. */
  fail(failure: Failure): void;
  /** The status that the client got. */
  status(): number;
}

/** What all HTTP carriers share. */
interface CarrierOptions {
  pool: PodPool;
  /** Whether to close the client's connection after the response, because the process drains. */
  closing: () => boolean;
  /** For bodies of requests that are answered without a pod, or whose pod does not read them. */
  discards: BodyDiscards;
}

export function httpCarrier(
  { pool, closing, discards }: CarrierOptions,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
): Carrier {
  return {
    gone: () => response.destroyed || response.closed,
    onGone: (listener) => response.once('close', listener),
    send: (endpoint, mark, timeoutMs, settle) =>
      forward(pool, { request, response, endpoint, requestId, timeoutMs, mark, closing, discards }, settle),
    repeatable: isRepeatable(request),
    status: () => response.statusCode,
    fail(failure) {
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const body = failureBody(failure, requestId);
      // node:http would read the whole of a body that the handler has not begun to read.
      if (hasBody(request)) discards.discard(request);
      const headers = failureHeaders(failure, requestId, body, closing() || request.isPaused());
      // With its own reason phrase, because that of a pod's rejected head may still be set on the response.
      response.writeHead(failure.status, STATUS_CODES[failure.status] ?? '', headers).end(body);
    },
  };
}

/** @param head data that the client sent after its request */
export function upgradeCarrier(request: IncomingMessage, socket: Duplex, head: Buffer, requestId: string): Carrier {
  let status = 101;
  socket.on('error', () => socket.destroy());
  return {
    gone: () => socket.destroyed,
    onGone: (listener) => socket.once('close', listener),
    send: (endpoint, mark, timeoutMs, settle) =>
      forwardUpgrade({ request, socket, head, endpoint, requestId, timeoutMs, mark }, settle),
    repeatable: false,
    status: () => status,
    fail(failure) {
      status = failure.status;
      const body = failureBody(failure, requestId);
      writeRawHead(socket, failure.status, undefined, failureHeaders(failure, requestId, body, true));
      socket.end(body);
    },
  };
}

function failureHeaders(failure: Failure, requestId: string, body: string, closing: boolean): string[] {
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))];
  headers.push('Cache-Control', 'no-store', 'X-Request-Id', requestId);
  if (failure.retryAfterSeconds !== undefined) headers.push('Retry-After', String(failure.retryAfterSeconds));
  if (closing) headers.push('Connection', 'close');
  return headers;
}
