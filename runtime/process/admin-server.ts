import { createServer, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { close, listen } from './listening.ts';

export interface AdminServerOptions {
  /** 0 selects a free port, which `start` returns. */
  port: number;
  /** Default: every interface, because the kubelet probes from outside the pod. */
  host?: string;
  registry: Registry;
  /** Whether the process is ready for requests; a throw counts as no. */
  ready: () => Promise<boolean> | boolean;
  /** Whether the process is healthy; default yes. Otherwise the kubelet restarts the container. */
  live?: () => Promise<boolean> | boolean;
  /** Additional paths such as `/report`, which respond to GET with JSON. */
  pages?: Readonly<Record<string, () => unknown>>;
}

/** A server that is started and stopped explicitly. */
export interface AdminServer {
  /** Resolves to the port once it listens; rejects when the port is in use. */
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
  const healthy = await Promise.resolve()
    .then(check)
    .catch(() => false);
  json(response, healthy ? 200 : 503, { healthy });
}

/**
 * The HTTP server of `/health`, `/ready`, `/metrics` and the process's own pages, reachable only inside the cluster.
 */
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
    // Nothing here takes a body, so the rest of one is not read: its connection ends with the response.
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (length !== undefined || coding !== undefined) response.setHeader('Connection', 'close');
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
    start: () => listen(server, options.port, options.host),
    async stop() {
      if (server.listening) await close(server);
    },
  };
}
