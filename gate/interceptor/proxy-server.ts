import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Interceptor } from './interceptor.ts';

/** Above the 90 s for which Traefik keeps idle connections, so that the client closes first and loses no request. */
const keepAliveMs = 120_000;

export interface ProxyServerOptions {
  interceptor: Interceptor;
  clock: Clock;
  /** 0 lets the system choose; `start` tells which. */
  port: number;
  /** Default: every interface. */
  host?: string;
  /** How long to go on as before once draining, until the ingress sends nothing new. */
  lingerMs: number;
  /** How long requests that are under way may still take after that. */
  drainMs: number;
}

export interface ProxyServer {
  start(): Promise<number>;
  /** Drains: serves on for a while, then finishes what is under way, then cuts what is left. */
  stop(): Promise<void>;
}

/** h2c needs no upgrade (the ingress speaks HTTP/1.1), and one with a body could not be handed over with it. */
function isUpgrade(request: IncomingMessage): boolean {
  const { upgrade, 'content-length': length, 'transfer-encoding': coding } = request.headers;
  return request.method === 'GET' && length === undefined && coding === undefined && upgrade?.toLowerCase() !== 'h2c';
}

export function createProxyServer(options: ProxyServerOptions): ProxyServer {
  const { interceptor, clock, port, host, lingerMs, drainMs } = options;
  const upgraded = new Set<Duplex>();
  const server = createServer({
    keepAliveTimeout: keepAliveMs,
    // An upload may take as long as it takes; only the head has a limit.
    requestTimeout: 0,
    headersTimeout: 60_000,
    // A request without a body has no stream that anybody reads.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: isUpgrade,
  });
  server.on('request', (request, response) => interceptor.handle(request, response));
  server.on('upgrade', (request, socket, head) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    interceptor.handleUpgrade(request, socket, head);
  });

  return {
    async start() {
      server.listen(port, host);
      await once(server, 'listening');
      const address = server.address();
      return typeof address === 'object' && address ? address.port : port;
    },
    async stop() {
      if (!server.listening) return;
      interceptor.beginDrain();
      await clock.sleep(lingerMs);
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const limit = new AbortController();
      await Promise.race([closed, clock.sleep(drainMs, limit.signal).catch(() => undefined)]);
      limit.abort();
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await closed;
      interceptor.close();
    },
  };
}
