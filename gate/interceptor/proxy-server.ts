import { createServer, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerHalfClosed, halfCloseMs } from '../../runtime/http/half-close.ts';
import { idleConnectionMs } from '../../runtime/http/idle-connections.ts';
import { drain, listen } from '../../runtime/process/listening.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Interceptor } from './interceptor.ts';

export interface ProxyServerOptions {
  interceptor: Interceptor;
  clock: Clock;
  /** 0 selects a free port, which `start` returns. */
  port: number;
  /** Default: every interface. */
  host?: string;
  /** How long to serve normally after draining starts, until the ingress sends no new requests. */
  lingerMs: number;
  /** How long active requests may take after that. */
  drainMs: number;
  /** How long a client that ended its side waits for its answer; default {@link halfCloseMs}. */
  halfCloseMs?: number;
}

export interface ProxyServer {
  start(): Promise<number>;
  /** Drains: serves for the linger time, then waits for active requests, then closes the remaining connections. */
  stop(): Promise<void>;
}

/** Ignores h2c: the ingress speaks HTTP/1.1, and an h2c request with a body could not be handed over with it. */
function isUpgrade(request: IncomingMessage): boolean {
  const { upgrade, 'content-length': length, 'transfer-encoding': coding } = request.headers;
  return request.method === 'GET' && length === undefined && coding === undefined && upgrade?.toLowerCase() !== 'h2c';
}

export function createProxyServer(options: ProxyServerOptions): ProxyServer {
  const { interceptor, clock, port, host, lingerMs, drainMs } = options;
  const upgraded = new Set<Duplex>();
  const server = createServer({
    keepAliveTimeout: idleConnectionMs,
    // Only the head has a time-out; an upload may take any time.
    requestTimeout: 0,
    headersTimeout: 60_000,
    // Nothing reads the stream of a request without a body.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: isUpgrade,
  });
  answerHalfClosed(server, clock, options.halfCloseMs ?? halfCloseMs);
  server.on('request', (request, response) => interceptor.handle(request, response));
  server.on('upgrade', (request, socket, head) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    interceptor.handleUpgrade(request, socket, head);
  });

  return {
    start: () => listen(server, port, host),
    async stop() {
      if (!server.listening) return;
      interceptor.beginDrain();
      await clock.sleep(lingerMs);
      await drain(server, {
        clock,
        ms: drainMs,
        onDeadline() {
          for (const socket of upgraded) socket.destroy();
        },
      });
      interceptor.close();
    },
  };
}
