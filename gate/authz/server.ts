import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { drain, listen } from '../../runtime/process/listening.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { authorizePath } from '../../runtime/contracts/gate-denials.ts';
import { LeanRequest } from './lean-request.ts';

/** Traefik refuses request heads over 1 MiB, so that every request that it forwards gets a verdict. */
const headMaxBytes = 1024 * 1024 + 64 * 1024;
/** Longer than the 90 s for which Traefik keeps idle connections, so that Traefik closes them first. */
const idleMs = 120_000;
const requestLimitMs = 10_000;

export interface AuthzServerOptions {
  /** 0 for any free port, which `start` returns. */
  port: number;
  /** Default: every interface. */
  host?: string;
  authorize: RequestListener;
  registry: Registry;
  ready: () => boolean;
  clock: Clock;
  /** Milliseconds for which `stop` still serves, with `Connection: close`, until the ingress sends no new requests. */
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

/** A server for small requests without bodies, on connections that stay open. */
export function createLeanServer(listener: RequestListener): Server {
  const server = createServer(
    {
      maxHeaderSize: headMaxBytes,
      requestTimeout: requestLimitMs,
      // `server.setTimeout` below is cheaper: this timer would be set and cleared for every request.
      keepAliveTimeout: 0,
      // Request bodies are not read, and an unused stream costs a tenth of the time of a response.
      optimizeEmptyRequests: true,
      IncomingMessage: LeanRequest,
    },
    listener,
  );
  server.setTimeout(idleMs);
  return server;
}

/** The checker's main port: `/authorize`, `/health`, `/ready` and `/metrics`. */
export function createAuthzServer(options: AuthzServerOptions): AuthzServer {
  const { authorize, registry, ready, clock } = options;
  let draining = false;

  const sendMetrics = async (response: ServerResponse) => {
    const text = await registry.metrics();
    response.writeHead(200, { 'Content-Type': registry.contentType, 'Cache-Control': 'no-store' }).end(text);
  };

  const server = createLeanServer((request, response) => {
    if (draining) response.shouldKeepAlive = false;
    const url = request.url ?? '/';
    if (url === authorizePath || url.startsWith(`${authorizePath}?`)) authorize(request, response);
    else if (url === '/health') send(response, 200, { healthy: true });
    else if (url === '/ready') send(response, ready() ? 200 : 503, { healthy: ready() });
    else if (url === '/metrics') sendMetrics(response).catch((error: unknown) => response.destroy(error as Error));
    else send(response, 404, { code: 'not_found', message: 'No such path.' });
  });

  return {
    start: () => listen(server, options.port, options.host),
    async stop() {
      draining = true;
      await clock.sleep(options.drainMs);
      await drain(server, { clock, ms: requestLimitMs });
    },
  };
}
