import { request as httpRequest, type Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Endpoint } from '../controllers/endpoint-slice.ts';
import { badGatewayAnswer, type Answer, type Handler, type RouteRequest } from './exchange.ts';
import { forwardedFor, headersOf, listMembers, rawHeaders, removeHopByHop } from './headers.ts';
import { TunnelSocket } from './tunnel-socket.ts';

/** Go's default limit of an answer's head. https://pkg.go.dev/net/http#Transport */
const maxHeaderSize = 10 * 1024 * 1024;

/** Why a wait ends. Without a reason of its own, each abort would create an error with a stack. */
const ended = new Error('the exchange has ended');

/**
 * No pod accepted the request, or the connection broke before the answer. `answer` is Traefik's answer in this case.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly answer: Answer;

  constructor(message: string, answer: Answer, cause?: unknown) {
    super(message, { cause });
    this.answer = answer;
  }
}

/**
 * Sends requests to the pods of a Service, streaming both bodies. Rejects with an {@link UpstreamError} when there is
 * no pod or it does not answer.
 * @param service its namespace and name @param next returns the next pod @throws UpstreamError
 */
export function createUpstream(agent: Agent, service: string, next: () => Endpoint): Handler {
  return async (request) => send(agent, { service, endpoint: next() }, request);
}

/** A route's last step: sends the request to the pod with the headers of a proxy. */
export function proxyHandler(upstream: Handler): Handler {
  return async (request) => {
    const { headers, signal } = request;
    const trailers = listMembers(headers, 'Te').includes('trailers');
    removeHopByHop(headers);
    if (trailers) headers.set('Te', ['trailers']);
    headers.set('X-Forwarded-For', [forwardedFor(request)]);
    try {
      return await upstream(request);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof UpstreamError) return error.answer;
      throw error;
    }
  };
}

function send(agent: Agent, pod: { service: string; endpoint: Endpoint }, request: RouteRequest): Promise<Answer> {
  const { service, endpoint } = pod;
  const { method, uri: path, body, upgrade, signal } = request;
  return new Promise((resolve, reject) => {
    const headers = ['Host', request.host, ...rawHeaders(request.headers), ...framing(request)];
    // An upgraded connection is never returned to the pool.
    const connection = upgrade === undefined ? { agent } : { createConnection: () => new TunnelSocket(endpoint) };
    const outgoing = httpRequest({ ...endpoint, ...connection, method, path, headers, maxHeaderSize });
    // Does the same as node:http's option `signal`, at a tenth of its cost.
    const abortRequest = () => outgoing.destroy(signal.reason as Error);
    if (signal.aborted) abortRequest();
    else signal.addEventListener('abort', abortRequest, { once: true });
    let connected = false;
    let answered = false;
    const fail = (error?: NodeJS.ErrnoException) => {
      if (answered) return;
      const reset = error?.code === 'ECONNRESET' || error?.code === 'EPIPE';
      // The pod closed the idle connection before the request arrived.
      const stale = outgoing.reusedSocket && reset && isRepeatable(request) && !signal.aborted;
      if (stale) resolve(send(agent, pod, request));
      else {
        const answer = connected ? badGatewayAnswer() : { ...badGatewayAnswer(), unsent: true as const };
        reject(new UpstreamError('the pod did not answer', answer, error));
      }
    };
    // After the answer has begun, its stream reports errors.
    outgoing.on('error', fail);
    outgoing.once('close', () => fail());
    outgoing.once('response', (message) => {
      answered = true;
      message.once('close', () => headStart?.abort(ended));
      // One that does not refuse may read the body while it answers.
      if ((message.statusCode ?? 0) < 400) pipeBody();
      // A pod that has answered needs no more of the body.
      message.once('end', () => outgoing.writableFinished || outgoing.destroy());
      const received = headersOf(message.rawHeaders);
      removeHopByHop(received);
      resolve({ status: message.statusCode ?? 502, headers: received, body: message });
    });
    outgoing.once('upgrade', (message, socket: Duplex, head) => {
      const protocol = message.headers.upgrade ?? '';
      if (protocol.toLowerCase() !== upgrade?.toLowerCase()) {
        socket.destroy();
        return;
      }
      answered = true;
      const received = headersOf(message.rawHeaders);
      removeHopByHop(received);
      received.set('Connection', ['Upgrade']).set('Upgrade', [protocol]);
      resolve({ status: 101, headers: received, body: '', tunnel: { socket, head } });
    });
    let headStart: AbortController | undefined;
    let isPiped = false;
    const pipeBody = () => {
      if (!body || isPiped || outgoing.destroyed) return;
      isPiped = true;
      headStart?.abort(ended);
      body.open().pipe(outgoing);
    };
    const sendBody = () => {
      connected = true;
      const waitForAnswer = body?.countFor?.(service);
      if (!waitForAnswer) {
        pipeBody();
        return;
      }
      outgoing.flushHeaders();
      headStart = new AbortController();
      outgoing.once('close', () => headStart?.abort(ended));
      waitForAnswer(headStart.signal).then(pipeBody, () => undefined);
    };
    // Until the pod accepts the connection the body stays unread, so that it can go to another pod.
    outgoing.once('socket', (socket) => (socket.connecting ? socket.once('connect', sendBody) : sendBody()));
    if (!body) outgoing.end();
  });
}

/** The fields for the connection to the pod. The body keeps its framing. */
function framing({ method, body, upgrade }: RouteRequest): string[] {
  if (upgrade !== undefined) return ['Connection', 'Upgrade', 'Upgrade', upgrade];
  if (body?.length !== undefined) return ['Content-Length', String(body.length)];
  if (body) return ['Transfer-Encoding', 'chunked'];
  // Without it node:http would announce a chunked body.
  return ['POST', 'PUT', 'PATCH'].includes(method) ? ['Content-Length', '0'] : [];
}

/** RFC 9110 §9.2.2. */
function isRepeatable({ method, body }: RouteRequest): boolean {
  return !body && ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'].includes(method);
}
