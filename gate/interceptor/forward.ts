import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AnswerHead } from './answer-reader.ts';
import type { Endpoint } from './endpoints.ts';
import { answerHeaders, forwardHeaders, hasBody, headerLines, type Mark } from './headers.ts';
import type { Failure, PodConnection, PodExchange } from './pod-connection.ts';
import type { PodPool } from './pod-pool.ts';

/**
 * How one attempt at a pod ended: with a {@link Failure}; `answered`: the answer went out, whole or as far as both sides
 * lived; or `gone`: the client left first.
 */
export type Outcome = Failure | 'answered' | 'gone';

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  endpoint: Endpoint;
  requestId: string;
  /** How long nothing may come or go before the answer begins. */
  timeoutMs: number;
  /** Asked once the pod's answer begins. */
  mark: () => Mark;
  /** Whether the connection is to end with this answer, since the process drains. */
  closing: () => boolean;
}

/** Bodies up to this are written together with the head, in one piece. */
const smallBody = 16 * 1024;

/** Whether a second attempt can do no harm: nothing of a body was read, and the method may be repeated (RFC 9110 §9.2.2). */
export function isRepeatable(request: IncomingMessage): boolean {
  const { method } = request;
  const idempotent =
    method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || method === 'PUT' || method === 'DELETE';
  return idempotent && !hasBody(request);
}

/**
 * Sends the request to the pod and streams the answer back. Nothing is buffered beyond the streams' own marks, both ways
 * wait for the slower side, and a client that leaves aborts the pod's work.
 * @param settled called once the attempt is over; an answer has then been written unless the outcome says otherwise
 */
export function forward(pool: PodPool, taken: Exchange, settled: (outcome: Outcome) => void): void {
  const { request, response, endpoint, requestId, timeoutMs, mark, closing } = taken;
  const connection = pool.take(endpoint);
  let body: RequestBody | undefined;
  let answering = false;
  let answered = false;

  const abort = () => connection.abort(exchange);
  const onClose = () => {
    if (!response.writableFinished) abort();
    // The answer is out and the body still comes; node:http no longer tells when the client leaves now.
    else if (!request.complete) request.socket.once('close', abort);
    settled(answering ? 'answered' : 'gone');
  };
  response.on('close', onClose);

  const exchange: PodExchange = {
    method: request.method,
    head: `${request.method} ${request.url} HTTP/1.1\r\n${headerLines(forwardHeaders(request, requestId))}\r\n`,
    hasBody: hasBody(request),
    timeoutMs,
    begun(head) {
      writeHead(response, head, mark(), closing());
      answering = true;
      // Of a stream the client wants the head now; of an answer with a length, head and body fit one packet.
      // As `flushHeaders` does, which would write the head's Latin-1 as UTF-8.
      if (head.length === undefined && request.method !== 'HEAD') response.write('', 'latin1');
    },
    received(bytes, last) {
      if (last && bytes.length <= smallBody) {
        answered = true;
        // A string, which node:http joins with the head into one write; Latin-1 keeps every byte.
        response.end(bytes.toString('latin1'), 'latin1');
        return true;
      }
      if (response.write(Buffer.from(bytes))) return true;
      response.once('drain', () => connection.resume());
      return false;
    },
    answered() {
      if (!answered) response.end();
      answered = true;
    },
    drained: () => body?.resume(),
    lost(failure) {
      body?.drop();
      if (failure !== undefined) {
        response.off('close', onClose);
        settled(failure);
      }
      // The answer has begun and cannot be taken back: cutting it off is how the client learns.
      else if (!answered) response.destroy();
    },
  };
  connection.carry(exchange);
  if (!exchange.hasBody) return;
  // The body is touched only once a connection stands, so that a refused attempt can be repeated with it.
  connection.whenOpen(() => {
    body = sendBody(request, connection, () => request.socket.off('close', abort));
  });
}

/** @throws TypeError for a head that node:http refuses to write */
function writeHead(response: ServerResponse, head: AnswerHead, mark: Mark, closing: boolean): void {
  const headers = answerHeaders(head.rawHeaders, head.connection, mark);
  if (closing) headers.push('Connection', 'close');
  response.writeHead(head.status, head.statusMessage, headers);
}

/** A request's body on its way. */
interface RequestBody {
  /** The pod takes more. */
  resume(): void;
  /** The pod wants no more: what still comes is read and dropped, so that the client's connection stays usable. */
  drop(): void;
}

/** @param over called once, when the body is whole or dropped */
function sendBody(request: IncomingMessage, connection: PodConnection, over: () => void): RequestBody {
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
      request.resume();
      over();
    },
  };
}
