import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyDiscards } from '../../runtime/http/body-discard.ts';
import type { AnswerHead } from './answer-head.ts';
import type { Endpoint } from './endpoints.ts';
import {
  announceTrailers,
  answerHeaders,
  answerTrailers,
  forwardHeaders,
  hasBody,
  headerLines,
  type Mark,
} from './headers.ts';
import type { Failure, PodConnection, PodExchange } from './pod-connection.ts';
import type { PodPool } from './pod-pool.ts';

/**
 * The result of one attempt to forward to a pod: a {@link Failure}; `answered` when a response was sent, whole or until
 * either side disconnected; or `gone` when the client disconnected before it.
 */
export type Outcome = Failure | 'answered' | 'gone';

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  endpoint: Endpoint;
  requestId: string;
  /** Time-out without data in either direction before the response begins. */
  timeoutMs: number;
  /** Called when the pod's response begins. */
  mark: () => Mark;
  /** Whether to close the connection after this response, because the process drains. */
  closing: () => boolean;
  /** For the rest of a body that the pod does not take. */
  discards: BodyDiscards;
}

/** Bodies up to this size are sent in one write with the head. */
const smallBody = 16 * 1024;

/**
 * Whether the request can be sent again: nothing of its body was read, and its method is idempotent (RFC 9110 §9.2.2).
 */
export function isRepeatable(request: IncomingMessage): boolean {
  const { method } = request;
  const idempotent =
    method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || method === 'PUT' || method === 'DELETE';
  return idempotent && !hasBody(request);
}

/**
 * Sends the request to the pod and streams the response back. It buffers only up to the streams' high-water marks,
 * applies back-pressure in both directions, and aborts the request to the pod when the client disconnects.
 * @param onOutcome called once at the end of the attempt; unless the outcome says otherwise, a response was sent
 */
export function forward(pool: PodPool, attempt: Exchange, onOutcome: (outcome: Outcome) => void): void {
  const { request, response, endpoint, requestId, timeoutMs, mark, closing, discards } = attempt;
  const connection = pool.take(endpoint);
  let body: RequestBody | undefined;
  let answering = false;
  let answered = false;

  const abort = () => connection.abort(exchange);
  const onClose = () => {
    if (!response.writableFinished) abort();
    // The response was sent and the request body still arrives; node:http no longer reports that the client
    // disconnects.
    else if (!request.complete) request.socket.once('close', abort);
    onOutcome(answering ? 'answered' : 'gone');
  };
  response.on('close', onClose);

  const exchange: PodExchange = {
    method: request.method,
    head: `${request.method} ${request.url} HTTP/1.1\r\n${headerLines(forwardHeaders(request, requestId))}\r\n`,
    hasBody: hasBody(request),
    timeoutMs,
    begun(head) {
      writeHead(request, response, { head, mark: mark(), closing: closing() });
      answering = true;
      // For a stream, sends the head immediately; with a length, head and body fit one packet. Like `flushHeaders`,
      // which would encode the head's Latin-1 as UTF-8.
      if (head.length === undefined && request.method !== 'HEAD') response.write('', 'latin1');
    },
    received(bytes, last) {
      if (last && bytes.length <= smallBody) {
        answered = true;
        // A string, which node:http writes together with the head; Latin-1 keeps every byte.
        response.end(bytes.toString('latin1'), 'latin1');
        return true;
      }
      if (response.write(Buffer.from(bytes))) return true;
      response.once('drain', () => connection.resume());
      return false;
    },
    answered(trailers) {
      if (!answered && trailers.length > 0) response.addTrailers(answerTrailers(trailers));
      if (!answered) response.end();
      answered = true;
    },
    drained: () => body?.resume(),
    lost(failure) {
      body?.drop();
      if (failure !== undefined) {
        response.off('close', onClose);
        onOutcome(failure);
      }
      // The response has started, so that only closing the connection can report the failure to the client.
      else if (!answered) response.destroy();
    },
  };
  connection.carry(exchange);
  if (!exchange.hasBody) return;
  // The body is read only after the connection is open, so that a refused attempt can be repeated with it.
  connection.whenOpen(() => {
    body = sendBody({ request, connection, discards }, () => request.socket.off('close', abort));
  });
}

/** @throws TypeError for a head that node:http cannot write */
function writeHead(
  { method, httpVersionMinor }: IncomingMessage,
  response: ServerResponse,
  { head, mark, closing }: { head: AnswerHead; mark: Mark; closing: boolean },
): void {
  const headers = answerHeaders(head.rawHeaders, head.connection, mark);
  // node:http refuses to announce trailers of a response that it does not send in chunks.
  const inChunks = head.chunked && httpVersionMinor === 1 && method !== 'HEAD' && head.status !== 204;
  if (inChunks && head.status !== 304) announceTrailers(head.rawHeaders, headers);
  if (closing) headers.push('Connection', 'close');
  response.writeHead(head.status, head.statusMessage, headers);
}

/** The transfer of a request's body. */
interface RequestBody {
  /** Continues after the pod has drained. */
  resume(): void;
  /** Discards the rest of the body, which the pod does not want, within the limits of {@link BodyDiscards}. */
  drop(): void;
}

/** @param over called once, when the body is sent or discarded */
function sendBody(
  { request, connection, discards }: { request: IncomingMessage; connection: PodConnection; discards: BodyDiscards },
  over: () => void,
): RequestBody {
  const chunked = request.headers['transfer-encoding'] !== undefined;
  const onData = (bytes: Buffer) => {
    const more = chunked
      ? connection.writeAll([`${bytes.length.toString(16)}\r\n`, bytes, '\r\n'])
      : connection.write(bytes);
    if (!more) request.pause();
  };
  const onEnd = () => {
    if (chunked) connection.write('0\r\n\r\n');
    connection.finish();
    over();
  };
  request.on('data', onData);
  request.once('end', onEnd);
  return {
    resume: () => void request.resume(),
    drop() {
      request.off('data', onData);
      request.off('end', onEnd);
      // It may be paused, because the pod had not taken enough.
      request.resume();
      discards.discard(request);
      over();
    },
  };
}
