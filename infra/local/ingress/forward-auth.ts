import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { emptyAnswer, type Answer, type Handler, type Layer, type RouteRequest } from './exchange.ts';
import { canonicalName, forwardedFor, type Headers } from './headers.ts';
import type { ForwardAuthSpec } from './objects.ts';

/** Traefik's time limit for the checker's complete answer. */
const checkMs = 30_000;

/**
 * The Middleware `forwardAuth`: sends the request's headers to the checker first. A 2xx lets the request pass with the
 * headers that the checker sets, any other answer is sent to the client, and a failed check is an empty 500.
 * @param options.checker sends a request to the checker; rejects when it does not answer
 */
export function forwardAuthLayer(spec: ForwardAuthSpec, options: { checker: Handler; log: Logger }): Layer {
  const { checker, log } = options;
  const allowedNames = spec.authResponseHeaders.map(canonicalName);
  const pattern = spec.authResponseHeadersRegex;

  const check = async (request: RouteRequest): Promise<Answer> => {
    const verdict = await checker(checkRequest(spec, request));
    return { ...verdict, body: verdict.body instanceof Readable ? await buffer(verdict.body) : verdict.body };
  };

  return (next) => async (request) => {
    let verdict: Answer;
    try {
      verdict = await check(request);
    } catch (error) {
      request.signal.throwIfAborted();
      log.error({ err: error, address: spec.address }, 'the checker did not answer');
      return emptyAnswer(500);
    }
    if (verdict.status < 200 || verdict.status > 299) return verdict;
    const { headers } = request;
    for (const name of [...headers.keys()]) if (allowedNames.includes(name) || pattern.test(name)) headers.delete(name);
    for (const [name, values] of verdict.headers) {
      if (allowedNames.includes(name) || pattern.test(name)) headers.set(name, values);
    }
    return next(request);
  };
}

/** The request to the checker (Traefik's `writeHeader` with `trustForwardHeader`). */
function checkRequest({ address, authRequestHeaders }: ForwardAuthSpec, request: RouteRequest): RouteRequest {
  const headers: Headers = new Map();
  const copyHeader = (name: string, fallback?: string) => {
    const values = request.headers.get(name) ?? (fallback === undefined ? undefined : [fallback]);
    if (values) headers.set(name, values);
  };
  for (const name of [...authRequestHeaders.map(canonicalName), 'X-Forwarded-Proto', 'X-Forwarded-Port'])
    copyHeader(name);
  copyHeader('X-Forwarded-Method', request.method);
  copyHeader('X-Forwarded-Host', request.host);
  copyHeader('X-Forwarded-Uri', request.uri);
  headers.set('X-Forwarded-For', [forwardedFor(request)]);
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(checkMs)]);
  const { host, uri } = address;
  return { ...request, method: 'GET', host, uri, headers, body: undefined, upgrade: undefined, signal };
}
