import { request as httpRequest, type Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Endpoint } from './endpoints.ts';
import { badGateway, errorAnswer, notFound, type Answer, type Handler, type RouteRequest } from './exchange.ts';
import { appendClient } from './forwarded-headers.ts';
import { firstValue, headersOf, listMembers, rawHeaders, removeHopByHop } from './headers.ts';

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
 * @param next the pod whose turn it is
 */
export function createUpstream(agent: Agent, next: () => Endpoint | 'no service' | 'no endpoint'): Handler {
  return async (request) => {
    const found = next();
    if (found === 'no service') throw new UpstreamError('the Service or its port does not exist', notFound());
    if (found === 'no endpoint') {
      throw new UpstreamError('the Service has no endpoint', errorAnswer(503, 'no available server'));
    }
    return send(agent, found, request);
  };
}

/** A route's last step: the request goes to the pod in the form in which a proxy passes it on. */
export function proxied(upstream: Handler): Handler {
  return async (request) => {
    const { headers } = request;
    const trailers = listMembers(headers, 'Te').includes('trailers');
    removeHopByHop(headers);
    if (trailers) headers.set('Te', ['trailers']);
    appendClient(request);
    try {
      return await upstream(request);
    } catch (error) {
      request.signal.throwIfAborted();
      if (error instanceof UpstreamError) return error.answer;
      throw error;
    }
  };
}

function send(agent: Agent, { address: host, port }: Endpoint, request: RouteRequest): Promise<Answer> {
  const { method, uri: path, body, upgrade, signal } = request;
  return new Promise((resolve, reject) => {
    const raw = ['Host', request.host, ...rawHeaders(request.headers), ...framing(request)];
    // A connection that changes its protocol is never given back.
    const outgoing = httpRequest({ agent: !upgrade && agent, host, port, method, path, headers: raw, signal });
    const fail = (error?: Error) => {
      const stale = outgoing.reusedSocket && isReset(error) && isRepeatable(request) && !signal.aborted;
      // The pod had closed the kept connection already.
      if (stale) resolve(send(agent, { address: host, port }, request));
      else reject(new UpstreamError('the pod gave no answer', badGateway(), error));
    };
    // After the answer's beginning its stream tells of errors.
    outgoing.on('error', fail);
    outgoing.once('close', () => fail());
    outgoing.once('response', (message) => {
      const headers = headersOf(message.rawHeaders);
      removeHopByHop(headers);
      resolve({ status: message.statusCode ?? 502, headers, body: message });
    });
    outgoing.once('upgrade', (message, socket: Duplex, head) => {
      const headers = headersOf(message.rawHeaders);
      const protocol = firstValue(headers, 'Upgrade');
      if (upgrade === undefined || protocol.toLowerCase() !== upgrade.toLowerCase()) {
        socket.destroy();
        return;
      }
      removeHopByHop(headers);
      headers.set('Connection', ['Upgrade']).set('Upgrade', [protocol]);
      resolve({ status: 101, headers, body: '', tunnel: { socket, head } });
    });
    if (body) body.open().pipe(outgoing);
    else outgoing.end();
  });
}

/** What is of the connection to the pod only. The body keeps its framing. */
function framing({ method, body, upgrade }: RouteRequest): string[] {
  if (upgrade !== undefined) return ['Connection', 'Upgrade', 'Upgrade', upgrade];
  if (body)
    return body.length === undefined ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(body.length)];
  // Without it node:http would announce a chunked body that never comes.
  return ['POST', 'PUT', 'PATCH'].includes(method) ? ['Content-Length', '0'] : [];
}

function isReset(error: NodeJS.ErrnoException | undefined): boolean {
  return error?.code === 'ECONNRESET' || error?.code === 'EPIPE';
}

/** RFC 9110 §9.2.2. */
function isRepeatable({ method, body }: RouteRequest): boolean {
  return !body && ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'].includes(method);
}
