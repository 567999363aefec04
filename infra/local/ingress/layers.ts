import type { Logger } from 'pino';
import { errorPagesLayer } from './error-pages.ts';
import type { Handler, Layer } from './exchange.ts';
import { forwardAuthLayer } from './forward-auth.ts';
import { headerLayer } from './header-layer.ts';
import { middlewareSpec, read, type Middleware, type ServiceRef } from './objects.ts';
import { proxied } from './upstream.ts';

export interface LayerDependencies {
  /** Leads to a Service; rejects when nobody answers there. */
  upstream: (namespace: string, service: ServiceRef) => Handler;
  log: Logger;
}

/** What a Middleware does. @throws Error that says what of it is not supported */
export function layerOf({ metadata, spec }: Middleware, { upstream, log }: LayerDependencies): Layer {
  const { forwardAuth, headers, errors } = read(middlewareSpec, spec);
  if (forwardAuth) {
    const { namespace, name, port } = forwardAuth.address;
    return forwardAuthLayer(forwardAuth, { checker: upstream(namespace, { name, port }), log });
  }
  if (errors) return errorPagesLayer(errors, proxied(upstream(metadata.namespace ?? '', errors.service)));
  if (headers) return headerLayer(headers);
  throw new Error('it has no type');
}
