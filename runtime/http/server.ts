import { createServer, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { systemClock } from '../domain/clock.ts';
import { Problem } from '../domain/problem.ts';
import { drain, listen } from '../process/listening.ts';
import { idleConnectionMs } from './idle-connections.ts';
import { isWebSocketRequest, type WebSockets } from './web-sockets.ts';

/** Time for a request's head, in ms: a client sends it at once. */
const headMs = 10_000;
/** Time for a whole request, in ms; routes give a body less. It ends bodies that no route reads. */
const requestMs = 60_000;
/** Connections at once, so that idle ones take at most 40 MB. An ingress needs one for each request in progress. */
const connectionsMax = { all: 2_000, perAddress: 1_200 };

export interface HttpServerOptions {
  /** 0 selects a free port, which `start` returns. */
  port: number;
  /** Default: every interface. */
  host?: string;
  /** Answers every request; never rejects. */
  listener: (request: IncomingMessage, response: ServerResponse) => unknown;
  /** Requests for WebSockets get a response, too, with which the listener can refuse them. Default: they are ordinary requests. */
  sockets?: WebSockets;
  /** Headers of the responses to requests that the listener does not get, because they are not HTTP or never end. */
  headers?: Readonly<Record<string, string>>;
  /** Connections at once; default 2,000, of which 1,200 from one address. */
  connections?: { all: number; perAddress: number };
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

/** An HTTP server that drains when it stops, and closes connections beyond its limits at once. */
export function createHttpServer({
  port,
  host,
  listener,
  sockets,
  headers = {},
  connections = connectionsMax,
  lingerMs = 0,
  drainMs = 15_000,
}: HttpServerOptions): HttpServer {
  let draining = false;
  /** Connections whose current request gets its response from the listener: its rest may break off after it. */
  const busy = new WeakSet<Duplex>();
  const timeLimits = {
    headersTimeout: headMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: 5_000,
    keepAliveTimeout: idleConnectionMs,
  };
  const upgrading = { shouldUpgradeCallback: sockets ? isWebSocketRequest : () => false };
  const server = createServer({ ...timeLimits, ...upgrading }, (request, response) => {
    const { socket } = request;
    busy.add(socket);
    const end = () => busy.delete(socket);
    response.once('close', () => (request.complete ? end() : request.once('end', end)));
    // Otherwise a client could keep sending requests on a kept-alive connection.
    if (draining) response.setHeader('Connection', 'close');
    response.once('finish', () => {
      if (draining) setImmediate(() => server.closeIdleConnections());
    });
    listener(request, response);
  });
  if (sockets) server.on('upgrade', sockets.offer(listener));
  server.maxConnections = connections.all;
  limitPerAddress(server, connections.perAddress);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable && !busy.has(socket)) socket.write(refusal(error.code, headers));
    socket.destroy(error);
  });
  return {
    start: () => listen(server, port, host),
    async stop() {
      if (!server.listening) return;
      draining = true;
      if (lingerMs > 0) await new Promise((resolve) => setTimeout(resolve, lingerMs));
      sockets?.stop();
      await drain(server, { clock: systemClock, ms: drainMs, onDeadline: () => sockets?.terminate() });
    },
  };
}

function limitPerAddress(server: ReturnType<typeof createServer>, max: number): void {
  const counts = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const count = counts.get(address) ?? 0;
    if (count >= max) {
      socket.destroy();
      return;
    }
    counts.set(address, count + 1);
    socket.once('close', () => {
      const rest = (counts.get(address) ?? 1) - 1;
      if (rest > 0) counts.set(address, rest);
      else counts.delete(address);
    });
  });
}

/** The whole response to a request that could not be read. */
function refusal(code: string | undefined, headers: Readonly<Record<string, string>>): string {
  const problem =
    code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? new Problem('request_timeout', 'The request did not arrive in time. Send it again.')
      : code === 'HPE_HEADER_OVERFLOW'
        ? new Problem('headers_too_large', 'The request’s headers exceed the limit of 16 KiB.')
        : new Problem('invalid_request', 'The request is not valid HTTP/1.1.');
  const body = JSON.stringify(problem.body());
  const fields = {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`;
}
