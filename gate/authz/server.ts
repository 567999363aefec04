import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { idleConnectionMs } from '../../runtime/http/idle-connections.ts';
import { drain, listen } from '../../runtime/process/listening.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { authorizePath } from '../../runtime/contracts/gate-denials.ts';
import type { Authorize, GateAnswer } from './handler.ts';
import {
  createLastFields,
  serveQuickly,
  type QuickConnection,
  type QuickConnectionOptions,
} from './quick-connection.ts';

/** Traefik refuses request heads over 1 MiB, so that every request that it forwards gets a verdict. */
const headMaxBytes = 1024 * 1024 + 64 * 1024;
const requestLimitMs = 10_000;

export interface AuthzServerOptions {
  /** 0 for any free port, which `start` returns. */
  port: number;
  /** Default: every interface. */
  host?: string;
  authorize: Authorize;
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

/** Writes a verdict's answer; one that cannot be written any more cuts the connection off. */
function write(response: ServerResponse, { status, headers, body }: GateAnswer): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(status, [...headers]).end(body, 'latin1');
}

/** Lets each new connection be served quickly, and by node:http from the first request on that is not usual. */
function acceptQuickly(
  server: Server,
  options: Omit<QuickConnectionOptions, 'handOver' | 'onEnd'>,
): { handOver(): void; end(): void } {
  const [serve] = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  if (!serve) throw new Error('node:http has no listener of connections');
  const connections = new Set<QuickConnection>();
  let isQuick = true;
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (!isQuick) {
      serve.call(server, socket);
      return;
    }
    const connection = serveQuickly(socket, {
      ...options,
      onEnd: (ended) => connections.delete(ended),
      handOver(unread) {
        socket.pause();
        socket.unshift(unread);
        serve.call(server, socket);
        socket.resume();
      },
    });
    connections.add(connection);
  });
  return {
    handOver() {
      isQuick = false;
      for (const connection of connections) connection.handOverNext();
    },
    end() {
      for (const connection of connections) connection.end();
    },
  };
}

/** The checker's main port: `/authorize`, `/health`, `/ready` and `/metrics`. */
export function createAuthzServer(options: AuthzServerOptions): AuthzServer {
  const { authorize, registry, ready, clock } = options;
  let draining = false;

  const sendMetrics = async (response: ServerResponse) => {
    const text = await registry.metrics();
    response.writeHead(200, { 'Content-Type': registry.contentType, 'Cache-Control': 'no-store' }).end(text);
  };

  const server = createServer({ maxHeaderSize: headMaxBytes, requestTimeout: requestLimitMs, keepAliveTimeout: 0 });
  server.setTimeout(idleConnectionMs);
  server.on('request', (request, response) => {
    if (draining) response.shouldKeepAlive = false;
    const url = request.url ?? '/';
    if (url === authorizePath || url.startsWith(`${authorizePath}?`))
      authorize(request, (answer) => write(response, answer));
    else if (url === '/health') send(response, 200, { healthy: true });
    else if (url === '/ready') send(response, ready() ? 200 : 503, { healthy: ready() });
    else if (url === '/metrics') sendMetrics(response).catch((error: unknown) => response.destroy(error as Error));
    else send(response, 404, { code: 'not_found', message: 'No such path.' });
  });
  const quick = acceptQuickly(server, { authorize, lastFields: createLastFields(clock), idleMs: idleConnectionMs });

  return {
    start: () => listen(server, options.port, options.host),
    async stop() {
      draining = true;
      // node:http then tells the ingress with each answer that the connection ends.
      quick.handOver();
      await clock.sleep(options.drainMs);
      quick.end();
      await drain(server, { clock, ms: requestLimitMs });
    },
  };
}
