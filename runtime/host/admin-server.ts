import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';

export interface AdminServerOptions {
  /** 0 lets the system choose; `start` tells which. */
  port: number;
  /** Default: every interface, since the kubelet probes from outside the pod. */
  host?: string;
  registry: Registry;
  /** Whether the process may get traffic; a throw counts as no. */
  ready: () => Promise<boolean> | boolean;
  /** Whether the process works at all; default yes. A no makes the kubelet restart the container. */
  live?: () => Promise<boolean> | boolean;
  /** Further paths of the process, each answering JSON to a GET, such as `/report`. */
  pages?: Readonly<Record<string, () => unknown>>;
}

/** A server with an explicit life. */
export interface AdminServer {
  /** Resolves to the port once it listens; rejects when the port is taken. */
  start(): Promise<number>;
  stop(): Promise<void>;
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body);
}

function json(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, 'application/json', JSON.stringify(body));
}

async function probe(response: ServerResponse, check: () => Promise<boolean> | boolean): Promise<void> {
  const good = await Promise.resolve()
    .then(check)
    .catch(() => false);
  json(response, good ? 200 : 503, { healthy: good });
}

/** The port that only the cluster reaches: `/health`, `/ready`, `/metrics`, and a process's own pages. */
export function createAdminServer(options: AdminServerOptions): AdminServer {
  const { registry, ready, live = () => true, pages = {} } = options;

  const answer = async (path: string, response: ServerResponse) => {
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (path === '/health') await probe(response, live);
    else if (path === '/ready') await probe(response, ready);
    else if (path === '/metrics') send(response, 200, registry.contentType, await registry.metrics());
    else if (page) json(response, 200, await page());
    else json(response, 404, { code: 'not_found', message: 'There is nothing at this path.' });
  };

  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    request.resume();
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      json(response, 405, { code: 'method_not_allowed', message: 'This port answers GET only.' });
      return;
    }
    answer(path, response).catch(() => {
      if (response.headersSent) response.destroy();
      else json(response, 500, { code: 'internal', message: 'This page failed.' });
    });
  });

  return {
    async start() {
      server.listen(options.port, options.host);
      await once(server, 'listening');
      const address = server.address();
      return typeof address === 'object' && address ? address.port : options.port;
    },
    async stop() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
