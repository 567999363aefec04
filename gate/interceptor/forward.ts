import { request as httpRequest, type Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Endpoint } from './endpoints.ts';
import { answerHeaders, forwardHeaders, hasBody, type Mark } from './headers.ts';
import { isConnectError } from './pod-agent.ts';

/**
 * How one attempt at a pod ended. `refused`: no connection, nothing was sent. `stale`: a kept connection had been closed
 * by the pod when the request was written to it. `broken`: the pod broke off before its answer began.
 * `late`: it did not begin to answer in time. `answered`: the answer went out, whole or as far as both sides lived.
 * `gone`: the client left first.
 */
export type Outcome = 'answered' | 'refused' | 'stale' | 'broken' | 'late' | 'gone';

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

/** Whether a second attempt can do no harm: nothing of a body was read, and the method may be repeated (RFC 9110 §9.2.2). */
export function isRepeatable(request: IncomingMessage): boolean {
  const { method } = request;
  const idempotent =
    method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || method === 'PUT' || method === 'DELETE';
  return idempotent && !hasBody(request);
}

/**
 * Sends the request to the pod and streams the answer back. Nothing is buffered beyond the streams' own marks, both ways
 * wait for the slower side, and a client that leaves aborts the pod's work. Resolves once the attempt is over; an answer
 * has then been written unless the outcome says otherwise.
 */
export function forward(agent: Agent, exchange: Exchange): Promise<Outcome> {
  const { request, response, endpoint, requestId, timeoutMs } = exchange;
  return new Promise((resolve) => {
    const upstream = httpRequest({
      agent,
      host: endpoint.host,
      port: endpoint.port,
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: forwardHeaders(request, requestId),
    });
    let answering = false;

    const settle = (outcome: Outcome) => {
      response.off('close', onClose);
      resolve(outcome);
    };
    const onClose = () => {
      if (!response.writableFinished) upstream.destroy();
      // The answer is out and the body still comes; node:http no longer tells when the client leaves now.
      else if (!request.complete) request.socket.once('close', () => upstream.destroy());
      settle(answering ? 'answered' : 'gone');
    };
    response.once('close', onClose);

    upstream.setTimeout(timeoutMs, () => {
      if (answering) return;
      settle('late');
      upstream.destroy();
    });
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      if (answering) {
        // The answer has begun and cannot be taken back: cutting it off is how the client learns.
        response.destroy();
        return;
      }
      stopReading(request, upstream);
      if (isConnectError(error)) settle('refused');
      else settle(upstream.reusedSocket && isReset(error) ? 'stale' : 'broken');
    });
    upstream.once('response', (answer) => {
      try {
        relay(answer, exchange);
        answering = true;
        upstream.setTimeout(0);
      } catch {
        // A head that node:http parses and refuses to write, such as status 099.
        upstream.destroy();
        settle('broken');
      }
    });
    upstream.once('close', () => {
      stopReading(request, upstream);
      // A 101 that nobody asked for ends without an error.
      if (!answering) settle('broken');
    });

    if (hasBody(request)) sendBody(request, upstream);
    else upstream.end();
  });
}

function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

/** The body is touched only once a connection stands, so that a refused attempt can be repeated with it. */
function sendBody(request: IncomingMessage, upstream: ReturnType<typeof httpRequest>): void {
  const begin = () => {
    if (!upstream.destroyed) request.pipe(upstream);
  };
  upstream.once('socket', (socket: Socket) => {
    if (socket.connecting) socket.once('connect', begin);
    else begin();
  });
}

/** The pod wants no more of the body: what still comes is read and dropped, so that the connection stays usable. */
function stopReading(request: IncomingMessage, upstream: ReturnType<typeof httpRequest>): void {
  if (request.complete || request.readableFlowing === null) return;
  request.unpipe(upstream);
  request.resume();
}

function relay(answer: IncomingMessage, { request, response, mark, closing }: Exchange): void {
  const headers = answerHeaders(answer, mark());
  if (closing()) headers.push('Connection', 'close');
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', headers);
  // Of a stream the client wants the head now; of an answer with a length, head and body fit one packet.
  if (answer.headers['content-length'] === undefined && request.method !== 'HEAD') response.flushHeaders();
  answer.once('error', () => response.destroy());
  answer.pipe(response);
}
