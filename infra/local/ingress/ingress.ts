import { Agent } from 'node:http';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { Informers } from '../../../runtime/kube/informers.ts';
import { reachedEndpoints, readyEndpoints } from '../controllers/endpoint-slice.ts';
import { serviceNameLabel, type EndpointSlice, type Service } from '../controllers/objects.ts';
import { observeApps } from './app-requests.ts';
import { emptyAnswer, errorAnswer, notFoundAnswer, type Handler } from './exchange.ts';
import type { IngressRoute, Middleware, ServiceRef } from './objects.ts';
import { canonicalHost, createRoutes } from './routes.ts';
import { createIngressServer } from './server.ts';
import { createUpstream, UpstreamError } from './upstream.ts';

/** Before servers close idle connections, as in the platform's ServersTransport (infra/manifests/workload-route.ts). */
const idleMs = 1_500;

export interface IngressOptions {
  informers: Informers;
  clock: Clock;
  log: Logger;
  /** Gets the metrics of apps' requests; default none. */
  registry?: Registry;
  /** 0 for any free port, which `start` returns. */
  port: number;
  host: string;
  /** The names of this port as an entry point, such as `web`. */
  entryPoints: readonly string[];
  /** Whether a proxy's X-Forwarded headers are trusted; default none. */
  trusted?: (address: string) => boolean;
  /** Maximum milliseconds that running requests may take during a stop; default 10,000. */
  drainMs?: number;
  /** How long a client that ended its side waits for its answer; default 5,000 ms. */
  halfCloseMs?: number;
}

export interface Ingress {
  /** Listens once all objects are loaded, so that no route is missing. @returns the port */
  start(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * The ingress of the embedded cluster: does what Traefik does with the platform's objects, on one port, in HTTP/1.1 and
 * without TLS. It refuses objects with unsupported fields, so that no request bypasses a check.
 */
export function createIngress(options: IngressOptions): Ingress {
  const { informers, clock, log, port, host, entryPoints, trusted = () => false, drainMs = 10_000 } = options;
  const ingressRoutes = informers.of<IngressRoute>(kinds.IngressRoute);
  const { registry } = options;
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 256, timeout: idleMs });
  const services = informers.of<Service>(kinds.Service);
  const slices = informers.of<EndpointSlice>(kinds.EndpointSlice);

  const podOf = (namespace: string, { name, port }: ServiceRef, index: number, endpointsOf = readyEndpoints) => {
    const service = services.get(name, namespace);
    const servicePort = service?.spec.ports?.find((candidate) => candidate.port === port);
    if (!service || !servicePort) throw new UpstreamError('the Service or its port does not exist', notFoundAnswer());
    const pods = endpointsOf(service, servicePort.name, slices.listLabeled(serviceNameLabel, name, namespace));
    const pod = pods[index % pods.length];
    if (!pod) throw new UpstreamError('the Service has no endpoint', errorAnswer(503, 'no available server'));
    return pod;
  };
  const routes = createRoutes({
    routes: ingressRoutes,
    observe: registry && observeApps({ routes: ingressRoutes, registry, clock }),
    middlewares: informers.of<Middleware>(kinds.Middleware),
    upstream(namespace, service) {
      let index = 0;
      return createUpstream(agent, `${namespace}/${service.name}`, () => podOf(namespace, service, index++));
    },
    addressUpstream(namespace, service) {
      let index = 0;
      return createUpstream(agent, `${namespace}/${service.name}`, () =>
        podOf(namespace, service, index++, reachedEndpoints),
      );
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
  const server = createIngressServer({
    handler,
    trusted,
    clock,
    port,
    host,
    drainMs,
    halfCloseMs: options.halfCloseMs,
  });

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
