import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { Handler, Layer } from './exchange.ts';
import { forwardAuthLayer } from './forward-auth.ts';
import { canonicalName, type Headers } from './headers.ts';
import {
  middlewareSpec,
  type ErrorsSpec,
  type HeadersSpec,
  type Middleware,
  type RetrySpec,
  type ServiceRef,
} from './objects.ts';
import { proxied } from './upstream.ts';

export interface LayerDependencies {
  /** Leads to a Service; rejects when nobody answers there. */
  upstream: (namespace: string, service: ServiceRef) => Handler;
  log: Logger;
}

/** What a Middleware does. @throws Error that says what of it is not supported */
export function layerOf({ metadata, spec }: Middleware, { upstream, log }: LayerDependencies): Layer {
  const read = middlewareSpec.parse(spec);
  if ('headers' in read) return headerLayer(read.headers);
  if ('errors' in read) {
    return errorPagesLayer(read.errors, proxied(upstream(metadata.namespace ?? '', read.errors.service)));
  }
  if ('retry' in read) return retryLayer(read.retry);
  const { namespace, name } = read.forwardAuth.address;
  return forwardAuthLayer(read.forwardAuth, { checker: upstream(namespace, { name, port: 80 }), log });
}

/** The Middleware `headers`: sets fields of the request, then of the answer; an empty value removes them. */
function headerLayer({ customRequestHeaders, customResponseHeaders }: HeadersSpec): Layer {
  return (next) => async (request) => {
    change(request.headers, customRequestHeaders);
    const answer = await next(request);
    change(answer.headers, customResponseHeaders);
    return answer;
  };
}

function change(headers: Headers, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === '') headers.delete(canonicalName(name));
    else headers.set(canonicalName(name), [value]);
  }
}

/** The Middleware `retry`: a request that no pod took goes to the next one, so often in all. */
function retryLayer({ attempts }: RetrySpec): Layer {
  return (next) => async (request) => {
    for (let attempt = 1; ; attempt++) {
      const answer = await next({ ...request, headers: new Map(request.headers) });
      if (!answer.unsent || attempt === attempts) return answer;
    }
  };
}

/**
 * The Middleware `errors`: answers of these statuses are replaced by a page of another Service, under the same status.
 * In `query`, `{status}` and `{url}` say what is wanted.
 */
function errorPagesLayer({ status: ranges, query }: ErrorsSpec, pages: Handler): Layer {
  return (next) => async (request) => {
    const { host, uri } = request;
    const headers = new Map(request.headers);
    const answer = await next(request);
    const { status, body } = answer;
    if (!ranges.some(({ from, to }) => status >= from && status <= to)) return answer;
    if (body instanceof Readable) body.destroy();
    const page = `/${query.replace(/^\//, '')}`
      .replaceAll('{status}', String(status))
      .replaceAll('{url}', () => encodeURIComponent(`http://${host}${uri}`));
    const asked = { ...request, method: 'GET', host, uri: page, headers, body: undefined, upgrade: undefined };
    return { ...(await pages(asked)), status };
  };
}
