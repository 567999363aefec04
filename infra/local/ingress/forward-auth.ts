import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { emptyAnswer, type Answer, type Handler, type Layer, type RouteRequest } from './exchange.ts';
import { canonicalName, forwardedFor, type Headers } from './headers.ts';
import type { ForwardAuthSpec } from './objects.ts';

/** Traefik's limit for the checker's whole answer. */
const checkMs = 30_000;

/**
 * The Middleware `forwardAuth`: asks the checker before anything else sees the request. A 2xx lets it pass with the
 * headers that the checker may set; any other answer goes to the client as it is; no answer is an empty 500.
 * @param options.checker where the address leads; rejects when nobody answers there
 */
export function forwardAuthLayer(spec: ForwardAuthSpec, options: { checker: Handler; log: Logger }): Layer {
  const { checker, log } = options;
  const mayBeSet = spec.authResponseHeaders.map(canonicalName);
  const pattern = spec.authResponseHeadersRegex;

  const check = async (request: RouteRequest): Promise<Answer> => {
    const verdict = await checker(question(spec, request));
    return { ...verdict, body: verdict.body instanceof Readable ? await buffer(verdict.body) : verdict.body };
  };

  return (next) => async (request) => {
    let verdict: Answer;
    try {
      verdict = await check(request);
    } catch (error) {
      request.signal.throwIfAborted();
      log.error({ err: error, address: spec.address }, 'the checker of a route gave no answer');
      return emptyAnswer(500);
    }
    if (verdict.status < 200 || verdict.status > 299) return verdict;
    const { headers } = request;
    for (const name of [...headers.keys()]) if (mayBeSet.includes(name) || pattern.test(name)) headers.delete(name);
    for (const [name, values] of verdict.headers) {
      if (mayBeSet.includes(name) || pattern.test(name)) headers.set(name, values);
    }
    return next(request);
  };
}

/** The request to the checker (Traefik's `writeHeader`, where it trusts what the entrance says). */
function question({ address, authRequestHeaders }: ForwardAuthSpec, asked: RouteRequest): RouteRequest {
  const headers: Headers = new Map();
  const tell = (name: string, otherwise?: string) => {
    const values = asked.headers.get(name) ?? (otherwise === undefined ? undefined : [otherwise]);
    if (values) headers.set(name, values);
  };
  for (const name of [...authRequestHeaders.map(canonicalName), 'X-Forwarded-Proto', 'X-Forwarded-Port']) tell(name);
  tell('X-Forwarded-Method', asked.method);
  tell('X-Forwarded-Host', asked.host);
  tell('X-Forwarded-Uri', asked.uri);
  headers.set('X-Forwarded-For', [forwardedFor(asked)]);
  const signal = AbortSignal.any([asked.signal, AbortSignal.timeout(checkMs)]);
  const { host, uri } = address;
  return { ...asked, method: 'GET', host, uri, headers, body: undefined, upgrade: undefined, signal };
}
