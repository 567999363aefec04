import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { systemClock } from '../domain/clock.ts';
import { drain, listen } from '../process/listening.ts';

export interface HttpServerOptions {
  /** 0 selects a free port, which `start` returns. */
  port: number;
  /** Default: every interface. */
  host?: string;
  /** Answers every request; never rejects. */
  listener: (request: IncomingMessage, response: ServerResponse) => unknown;
  /** How long `stop` continues to serve before it closes the port, in ms; default 0. Clients need time to stop sending. */
  lingerMs?: number;
  /** How long active requests may take after the port was closed, in ms; then their connections are closed. */
  drainMs?: number;
}

export interface HttpServer {
  /** Starts to listen, and resolves to the port. */
  start(): Promise<number>;
  /** Lingers, closes the port, waits for active requests, and resolves when the last connection is closed. */
  stop(): Promise<void>;
}

/** An HTTP server that drains when it stops. */
export function createHttpServer({
  port,
  host,
  listener,
  lingerMs = 0,
  drainMs = 15_000,
}: HttpServerOptions): HttpServer {
  let draining = false;
  // One minute is enough for a body of 1 MiB; slower clients are disconnected.
  const server = createServer({ requestTimeout: 60_000 }, (request, response) => {
    // Otherwise a client could keep sending requests on a kept-alive connection.
    if (draining) response.setHeader('Connection', 'close');
    response.once('finish', () => {
      if (draining) setImmediate(() => server.closeIdleConnections());
    });
    listener(request, response);
  });
  return {
    start: () => listen(server, port, host),
    async stop() {
      if (!server.listening) return;
      draining = true;
      if (lingerMs > 0) await new Promise((resolve) => setTimeout(resolve, lingerMs));
      await drain(server, { clock: systemClock, ms: drainMs });
    },
  };
}
