import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { Handler, Layer } from './exchange.ts';
import { bufferingLayer } from './buffering.ts';
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
import { proxyHandler } from './upstream.ts';

export interface LayerDependencies {
  /** Sends requests to a Service; rejects when no pod answers. */
  upstream: (namespace: string, service: ServiceRef) => Handler;
  /** The same through the Service's own address, as Traefik asks checkers. */
  addressUpstream: (namespace: string, service: ServiceRef) => Handler;
  log: Logger;
}

/** The layer of a Middleware. @throws Error that names the unsupported field */
export function layerOf({ metadata, spec }: Middleware, dependencies: LayerDependencies): Layer {
  const { upstream, addressUpstream, log } = dependencies;
  const parsed = middlewareSpec.parse(spec);
  if ('headers' in parsed) return headerLayer(parsed.headers);
  if ('errors' in parsed) {
    return errorPagesLayer(parsed.errors, proxyHandler(upstream(metadata.namespace ?? '', parsed.errors.service)));
  }
  if ('retry' in parsed) return retryLayer(parsed.retry);
  if ('buffering' in parsed) return bufferingLayer(parsed.buffering);
  const { namespace, name } = parsed.forwardAuth.address;
  return forwardAuthLayer(parsed.forwardAuth, { checker: addressUpstream(namespace, { name, port: 80 }), log });
}

/** The Middleware `headers`: sets fields of the request, then of the answer. An empty value removes the field. */
function headerLayer({ customRequestHeaders, customResponseHeaders }: HeadersSpec): Layer {
  const [ofRequest, ofAnswer] = [changes(customRequestHeaders), changes(customResponseHeaders)];
  return (next) => async (request) => {
    change(request.headers, ofRequest);
    const answer = await next(request);
    change(answer.headers, ofAnswer);
    return answer;
  };
}

type Changes = readonly (readonly [name: string, value: string])[];

function changes(values: Readonly<Record<string, string>>): Changes {
  return Object.entries(values).map(([name, value]) => [canonicalName(name), value]);
}

function change(headers: Headers, changes: Changes): void {
  for (const [name, value] of changes) {
    if (value === '') headers.delete(name);
    else headers.set(name, [value]);
  }
}

/** The Middleware `retry`: sends a request again when no pod accepted it, with at most `attempts` attempts. */
function retryLayer({ attempts }: RetrySpec): Layer {
  return (next) => async (request) => {
    for (let attempt = 1; ; attempt++) {
      const answer = await next({ ...request, headers: new Map(request.headers) });
      if (!answer.unsent || attempt === attempts) return answer;
    }
  };
}

/**
 * The Middleware `errors`: replaces answers with these statuses by a page of another Service, with the same status.
 * `query` is the path of the page, with `{status}` and `{url}` replaced.
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
    const pageRequest = { ...request, method: 'GET', host, uri: page, headers, body: undefined, upgrade: undefined };
    return { ...(await pages(pageRequest)), status };
  };
}
