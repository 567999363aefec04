import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { emptyAnswer, type Answer, type Handler, type Layer, type RouteRequest } from './exchange.ts';
import { canonicalName, copyHeaders, firstValue, type Headers } from './headers.ts';
import type { ForwardAuthSpec } from './objects.ts';

/** Traefik's limit for the checker's whole answer. */
const checkMs = 30_000;
/** Proxy-Authorization is not among them: it is for the checker (RFC 7235 §4.4). */
const ofConnection = ['Connection', 'Keep-Alive', 'Te', 'Trailers', 'Transfer-Encoding', 'Upgrade'];

export interface ForwardAuthDependencies {
  /** Where the address leads; rejects when nobody answers there. */
  checker: Handler;
  log: Logger;
}

/**
 * The Middleware `forwardAuth`: asks the checker before anything else sees the request. A 2xx lets it pass with the
 * headers that the checker may set; any other answer goes to the client as it is; no answer is an empty 500.
 */
export function forwardAuthLayer(spec: ForwardAuthSpec, { checker, log }: ForwardAuthDependencies): Layer {
  const address = `http://${spec.address.host}${spec.address.uri}`;
  const mayBeSet = spec.authResponseHeaders.map(canonicalName);
  const pattern = spec.authResponseHeadersRegex;

  const check = async (request: RouteRequest): Promise<Answer> => {
    const verdict = await checker(question(spec, request));
    const body = verdict.body instanceof Readable ? await buffer(verdict.body) : verdict.body;
    const location = firstValue(verdict.headers, 'Location');
    if (location !== '') verdict.headers.set('Location', [new URL(location, address).href]);
    return { ...verdict, body };
  };

  return (next) => async (request) => {
    let verdict: Answer;
    try {
      verdict = await check(request);
    } catch (error) {
      request.signal.throwIfAborted();
      log.error({ err: error, address }, 'the checker of a route gave no answer');
      return emptyAnswer(500);
    }
    if (verdict.status < 200 || verdict.status > 299) {
      for (const name of ofConnection) verdict.headers.delete(name);
      return verdict;
    }
    const { headers } = request;
    for (const name of mayBeSet) setOrDelete(headers, name, verdict.headers.get(name));
    if (pattern) {
      for (const name of headers.keys()) if (pattern.test(name)) headers.delete(name);
      for (const [name, values] of verdict.headers) if (pattern.test(name)) headers.set(name, values);
    }
    return next(request);
  };
}

function setOrDelete(headers: Headers, name: string, values: string[] | undefined): void {
  if (values) headers.set(name, values);
  else headers.delete(name);
}

/** The request to the checker (Traefik's `writeHeader`). */
function question(
  { address, authRequestHeaders, trustForwardHeader }: ForwardAuthSpec,
  asked: RouteRequest,
): RouteRequest {
  const all = copyHeaders(asked.headers);
  for (const name of ofConnection) all.delete(name);
  const wanted = new Set(authRequestHeaders.map(canonicalName));
  const headers: Headers = wanted.size === 0 ? all : new Map([...all].filter(([name]) => wanted.has(name)));

  const said = (name: string) => (trustForwardHeader ? firstValue(asked.headers, name) : '');
  const chain = trustForwardHeader ? (asked.headers.get('X-Forwarded-For') ?? []) : [];
  headers.set('X-Forwarded-For', [[...chain, asked.remoteAddress].join(', ')]);
  headers.set('X-Forwarded-Method', [said('X-Forwarded-Method') || asked.method]);
  headers.set('X-Forwarded-Proto', [said('X-Forwarded-Proto') || 'http']);
  headers.set('X-Forwarded-Host', [said('X-Forwarded-Host') || asked.host]);
  headers.set('X-Forwarded-Uri', [said('X-Forwarded-Uri') || asked.uri]);
  const port = said('X-Forwarded-Port');
  if (port !== '') headers.set('X-Forwarded-Port', [port]);

  const signal = AbortSignal.any([asked.signal, AbortSignal.timeout(checkMs)]);
  const { host, uri } = address;
  return { ...asked, method: 'GET', host, uri, headers, body: undefined, upgrade: undefined, signal };
}
