import { Readable } from 'node:stream';
import type { Registry } from 'prom-client';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { appLabel, kindLabel } from '../../../runtime/domain/labels.ts';
import type { Informer } from '../../../runtime/kube/informer.ts';
import { createRequestMetrics, type RequestFigures } from '../../../runtime/metrics/request-metrics.ts';
import type { Handler } from './exchange.ts';
import type { IngressRoute } from './objects.ts';

/** The status in metrics when the client disconnects before the response (nginx's 499). */
const clientGone = 499;

/** Wraps the last step of a route, which sends requests to pods. */
export type Observe = (route: Stored<IngressRoute>, handler: Handler) => Handler;

/**
 * Counts the requests that reach apps, as Traefik counts those of its services: without those that a middleware such as the
 * gate answers, and each attempt on its own. Functions have the interceptor's counts.
 */
export function observeApps(options: { routes: Informer<IngressRoute>; registry: Registry; clock: Clock }): Observe {
  const { routes, registry, clock } = options;
  const metrics = createRequestMetrics(registry);
  const apps = new Map<string, RequestFigures>();
  const keyOf = ({ metadata: { namespace = '', name } }: Stored<IngressRoute>) => `${namespace}/${name}`;
  routes.onChange(({ type, object }) => {
    if (type !== 'deleted') return;
    apps.get(keyOf(object))?.forget();
    apps.delete(keyOf(object));
  });

  const figuresOf = (route: Stored<IngressRoute>): RequestFigures | undefined => {
    const { namespace = '', labels = {} } = route.metadata;
    const name = labels[appLabel];
    if (labels[kindLabel] !== 'App' || name === undefined) return undefined;
    const figures = apps.get(keyOf(route)) ?? metrics.of({ kind: 'app', namespace, name });
    apps.set(keyOf(route), figures);
    return figures;
  };

  return (route, handler) => {
    const figures = figuresOf(route);
    if (!figures) return handler;
    return async (request) => {
      const startedAt = clock.monotonic();
      const end = (status: number) => figures.ended(status, (clock.monotonic() - startedAt) / 1000);
      try {
        const answer = await handler(request);
        if (answer.body instanceof Readable) answer.body.once('close', () => end(answer.status));
        else end(answer.status);
        return answer;
      } catch (error) {
        end(clientGone);
        throw error;
      }
    };
  };
}
