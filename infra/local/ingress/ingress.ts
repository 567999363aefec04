import { Agent } from 'node:http';
import type { Logger } from 'pino';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { Informers } from '../../../runtime/kube/informers.ts';
import { endpointsOf } from '../controllers/endpoint-slice.ts';
import type { EndpointSlice, Service } from '../controllers/objects.ts';
import { emptyAnswer, errorAnswer, notFound, type Handler } from './exchange.ts';
import type { IngressRoute, Middleware, ServiceRef } from './objects.ts';
import { canonicalHost, createRoutes } from './routes.ts';
import { createIngressServer } from './server.ts';
import { createUpstream, UpstreamError } from './upstream.ts';

/** Below the 5 s after which a Node server closes an idle connection, so that we close first. */
const idleMs = 4_000;

export interface IngressOptions {
  informers: Informers;
  clock: Clock;
  log: Logger;
  /** 0 lets the system choose; `start` tells which. */
  port: number;
  host: string;
  /** The names under which this port is an entry point, such as `web`. */
  entryPoints: readonly string[];
  /** Proxies whose X-Forwarded headers are believed; default none. */
  trusted?: (address: string) => boolean;
  /** How long requests under way may still take at the end; default 10,000. */
  drainMs?: number;
}

export interface Ingress {
  /** Listens once all objects are known, so that no route is missing. @returns the port */
  start(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * The embedded ingress: what Traefik does with the objects that the platform writes, on one port, in HTTP/1.1 and
 * without TLS. Everything that it does not do it refuses, so that no request passes by what was to check it.
 */
export function createIngress(options: IngressOptions): Ingress {
  const { informers, clock, log, port, host, entryPoints, trusted = () => false, drainMs = 10_000 } = options;
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 256, timeout: idleMs });
  const services = informers.of<Service>(kinds.Service);
  const slices = informers.of<EndpointSlice>(kinds.EndpointSlice);

  const podOf = (namespace: string, { name, port: wanted }: ServiceRef, turn: number) => {
    const service = services.get(name, namespace);
    const found = service?.spec.ports?.find((each) => each.port === wanted);
    if (!service || !found) throw new UpstreamError('the Service or its port does not exist', notFound());
    const pods = endpointsOf(service, found.name, slices.list());
    const pod = pods[turn % pods.length];
    if (!pod) throw new UpstreamError('the Service has no endpoint', errorAnswer(503, 'no available server'));
    return pod;
  };
  const routes = createRoutes({
    routes: informers.of<IngressRoute>(kinds.IngressRoute),
    middlewares: informers.of<Middleware>(kinds.Middleware),
    upstream(namespace, service) {
      let turn = 0;
      return createUpstream(agent, () => podOf(namespace, service, turn++));
    },
    entryPoints,
    log,
  });
  const handler: Handler = async (request) => {
    try {
      return await routes.find(canonicalHost(request.host))(request);
    } catch (error) {
      request.signal.throwIfAborted();
      log.error({ err: error, host: request.host }, 'request failed');
      return emptyAnswer(500);
    }
  };
  const server = createIngressServer({ handler, trusted, clock, port, host, drainMs });

  return {
    async start() {
      await informers.whenSynced();
      routes.start();
      return server.start();
    },
    async stop() {
      await server.stop();
      routes.stop();
      agent.destroy();
    },
  };
}
