import { Agent } from 'node:http';
import type { Logger } from 'pino';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { AddressMatcher } from '../../../runtime/domain/address.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { Informers } from '../../../runtime/kube/informers.ts';
import type { EndpointSlice, Service } from '../controllers/objects.ts';
import { createEndpoints } from './endpoints.ts';
import { createEntrance } from './entrance.ts';
import { emptyAnswer, type Handler } from './exchange.ts';
import type { IngressRoute, Middleware } from './objects.ts';
import { createRoutes } from './routes.ts';
import { createIngressServer } from './server.ts';
import { canonicalHost } from './target.ts';
import { createUpstream } from './upstream.ts';

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
  trusted?: AddressMatcher;
  /** How long requests under way may still take at the end; default 10,000. */
  drainMs?: number;
}

export interface Ingress {
  /** Listens once all objects are known, so that no route is missing. @returns the port */
  start(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * The embedded ingress: what Traefik does with the objects that the platform writes, on one port and without TLS.
 * Everything that it does not do it refuses, so that no request passes by what was to check it.
 */
export function createIngress(options: IngressOptions): Ingress {
  const { informers, clock, log, port, host, entryPoints, trusted = () => false, drainMs = 10_000 } = options;
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 256, timeout: idleMs });
  const endpoints = createEndpoints(
    informers.of<Service>(kinds.Service),
    informers.of<EndpointSlice>(kinds.EndpointSlice),
  );
  const routes = createRoutes({
    routes: informers.of<IngressRoute>(kinds.IngressRoute),
    middlewares: informers.of<Middleware>(kinds.Middleware),
    upstream: (namespace, service) => createUpstream(agent, () => endpoints.next(namespace, service)),
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
  const server = createIngressServer({ entrance: createEntrance(trusted), handler, clock, port, host, drainMs });

  return {
    async start() {
      await informers.whenSynced();
      endpoints.start();
      routes.start();
      return server.start();
    },
    async stop() {
      await server.stop();
      routes.stop();
      endpoints.stop();
      agent.destroy();
    },
  };
}
