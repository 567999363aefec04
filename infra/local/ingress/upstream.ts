import { request as httpRequest, type Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Endpoint } from '../controllers/endpoint-slice.ts';
import { badGateway, type Answer, type Handler, type RouteRequest } from './exchange.ts';
import { forwardedFor, headersOf, listMembers, rawHeaders, removeHopByHop } from './headers.ts';

/** Nobody took the request, or the connection broke before the answer began. `answer` is what Traefik says then. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly answer: Answer;

  constructor(message: string, answer: Answer, cause?: unknown) {
    super(message, { cause });
    this.answer = answer;
  }
}

/**
 * Sends requests to the pods of one Service; both bodies stream. Rejects with an {@link UpstreamError} when there is no
 * pod or it does not answer.
 * @param next the pod whose turn it is @throws UpstreamError
 */
export function createUpstream(agent: Agent, next: () => Endpoint): Handler {
  return async (request) => send(agent, next(), request);
}

/** A route's last step: the request goes to the pod in the form in which a proxy passes it on. */
export function proxied(upstream: Handler): Handler {
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

function send(agent: Agent, endpoint: Endpoint, request: RouteRequest): Promise<Answer> {
  const { method, uri: path, body, upgrade, signal } = request;
  return new Promise((resolve, reject) => {
    const headers = ['Host', request.host, ...rawHeaders(request.headers), ...framing(request)];
    // A connection that changes its protocol is never given back.
    const outgoing = httpRequest({ ...endpoint, agent: !upgrade && agent, method, path, headers });
    // As the option `signal` of node:http does it, at a tenth of its cost.
    const leave = () => outgoing.destroy(signal.reason as Error);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    let connected = false;
    let answered = false;
    const fail = (error?: NodeJS.ErrnoException) => {
      if (answered) return;
      const reset = error?.code === 'ECONNRESET' || error?.code === 'EPIPE';
      // The pod had closed the kept connection already.
      const stale = outgoing.reusedSocket && reset && isRepeatable(request) && !signal.aborted;
      if (stale) resolve(send(agent, endpoint, request));
      else {
        const answer = connected ? badGateway() : { ...badGateway(), unsent: true as const };
        reject(new UpstreamError('the pod gave no answer', answer, error));
      }
    };
    // After the answer's beginning its stream tells of errors.
    outgoing.on('error', fail);
    outgoing.once('close', () => fail());
    outgoing.once('response', (message) => {
      answered = true;
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
    const begin = () => {
      connected = true;
      if (body) body.open().pipe(outgoing);
    };
    // Before that the body stays unread, for another pod.
    outgoing.once('socket', (socket) => (socket.connecting ? socket.once('connect', begin) : begin()));
    if (!body) outgoing.end();
  });
}

/** What is of the connection to the pod only. The body keeps its framing. */
function framing({ method, body, upgrade }: RouteRequest): string[] {
  if (upgrade !== undefined) return ['Connection', 'Upgrade', 'Upgrade', upgrade];
  if (body?.length !== undefined) return ['Content-Length', String(body.length)];
  if (body) return ['Transfer-Encoding', 'chunked'];
  // Without it node:http would announce a chunked body that never comes.
  return ['POST', 'PUT', 'PATCH'].includes(method) ? ['Content-Length', '0'] : [];
}

/** RFC 9110 §9.2.2. */
function isRepeatable({ method, body }: RouteRequest): boolean {
  return !body && ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'].includes(method);
}
