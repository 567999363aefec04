import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { Clock } from '../../runtime/domain/clock.ts';
import { authorizePath } from './handler.ts';
import { LeanRequest } from './lean-request.ts';

/** Traefik refuses heads of more than 1 MiB; what it passes on is judged, however large the key. */
const headMaxBytes = 1024 * 1024 + 64 * 1024;
/** Longer than the 90 s for which Traefik keeps an idle connection, so that it is never the one to be surprised. */
const idleMs = 120_000;
const requestLimitMs = 10_000;

export interface AuthzServerOptions {
  /** 0 lets the system choose; `start` tells which. */
  port: number;
  /** Default: every interface. */
  host?: string;
  authorize: RequestListener;
  registry: Registry;
  ready: () => boolean;
  clock: Clock;
  /**
   * How long `stop` goes on serving, so that the ingress has time to learn of it, in ms. Until then every answer asks
   * for the connection to be closed.
   */
  drainMs: number;
}

export interface AuthzServer {
  /** Resolves to the port once it listens. */
  start(): Promise<number>;
  stop(): Promise<void>;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response
    .writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
    .end(JSON.stringify(body));
}

/** The gate's main port: `/authorize`, and beside it `/health`, `/ready` and `/metrics` for scrapers (spec.md §6.2). */
export function createAuthzServer(options: AuthzServerOptions): AuthzServer {
  const { authorize, registry, ready, clock } = options;
  let draining = false;

  const sendMetrics = async (response: ServerResponse) => {
    const text = await registry.metrics();
    response.writeHead(200, { 'Content-Type': registry.contentType, 'Cache-Control': 'no-store' }).end(text);
  };

  const server = createServer(
    {
      maxHeaderSize: headMaxBytes,
      requestTimeout: requestLimitMs,
      // One limit for the life of a connection, below, is cheaper than this one, which is set and unset at every request.
      keepAliveTimeout: 0,
      // No request has a body that anybody reads, and a stream that nobody reads costs a tenth of an answer.
      optimizeEmptyRequests: true,
      IncomingMessage: LeanRequest,
    },
    (request, response) => {
      if (draining) response.shouldKeepAlive = false;
      const url = request.url ?? '/';
      if (url === authorizePath || url.startsWith(`${authorizePath}?`)) authorize(request, response);
      else if (url === '/health') send(response, 200, { healthy: true });
      else if (url === '/ready') send(response, ready() ? 200 : 503, { healthy: ready() });
      else if (url === '/metrics') sendMetrics(response).catch((error: unknown) => response.destroy(error as Error));
      else send(response, 404, { code: 'not_found', message: 'There is nothing at this path.' });
    },
  );

  server.setTimeout(idleMs);

  return {
    async start() {
      server.listen(options.port, options.host);
      await once(server, 'listening');
      const address = server.address();
      return typeof address === 'object' && address ? address.port : options.port;
    },
    async stop() {
      if (!server.listening) return;
      draining = true;
      await clock.sleep(options.drainMs);
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const limit = setTimeout(() => server.closeAllConnections(), requestLimitMs);
      await closed;
      clearTimeout(limit);
    },
  };
}
