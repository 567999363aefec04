import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface HttpServerOptions {
  /** 0 lets the system choose; `start` tells which. */
  port: number;
  /** Default: every interface. */
  host?: string;
  /** Answers every request; never rejects. */
  listener: (request: IncomingMessage, response: ServerResponse) => unknown;
  /** How long `stop` goes on serving before it closes the port, in ms; default 0. Those who send here learn of the end late. */
  lingerMs?: number;
  /** How long running requests may take once the port is closed, in ms; then their connections are cut. */
  drainMs?: number;
}

export interface HttpServer {
  /** Resolves to the port once it listens. */
  start(): Promise<number>;
  /** Lingers, then accepts nothing new, lets running requests end, and resolves when the last connection is closed. */
  stop(): Promise<void>;
}

/** A main-port server that drains. */
export function createHttpServer({
  port,
  host,
  listener,
  lingerMs = 0,
  drainMs = 15_000,
}: HttpServerOptions): HttpServer {
  let draining = false;
  // A body of 1 MiB fits into a minute on any line; a slower sender is cut off.
  const server = createServer({ requestTimeout: 60_000 }, (request, response) => {
    // Else a client with a kept-alive connection could send requests for ever.
    if (draining) response.setHeader('Connection', 'close');
    response.once('finish', () => {
      if (draining) setImmediate(() => server.closeIdleConnections());
    });
    listener(request, response);
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
      draining = true;
      if (lingerMs > 0) await new Promise((resolve) => setTimeout(resolve, lingerMs));
      const closed = once(server, 'close');
      server.close();
      const limit = setTimeout(() => server.closeAllConnections(), drainMs);
      await closed;
      clearTimeout(limit);
    },
  };
}
