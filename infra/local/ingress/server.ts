import { once } from 'node:events';
import { createServer, ServerResponse, STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable, type Duplex } from 'node:stream';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { joinConnections } from '../../../runtime/host/tunnel.ts';
import { badGateway, emptyAnswer, type Answer, type Handler, type RequestBody } from './exchange.ts';
import { pairs, rawHeaders } from './headers.ts';
import { requestOf } from './request.ts';

const limits = {
  // A megabyte for a request's head and 4 KiB on top, as Go has it.
  maxHeaderSize: 1024 * 1024 + 4096,
  // As Traefik has them, but for the time of a whole request: an upload may take as long as it takes.
  headersTimeout: 60_000,
  requestTimeout: 0,
  keepAliveTimeout: 180_000,
};

export interface IngressServerOptions {
  /** Rejects only when the client has gone. */
  handler: Handler;
  /** Whose X-Forwarded headers are believed. */
  trusted: (address: string) => boolean;
  clock: Clock;
  /** 0 lets the system choose; `start` tells which. */
  port: number;
  host: string;
  /** How long requests under way may still take at the end. */
  drainMs: number;
}

export interface IngressServer {
  start(): Promise<number>;
  /** Takes no more, lets what is under way end, and cuts what is left then. */
  stop(): Promise<void>;
}

/** A server of HTTP/1.1 for one handler. */
export function createIngressServer(options: IngressServerOptions): IngressServer {
  const { handler, trusted, clock, port, host, drainMs } = options;
  const server = createServer({ ...limits, shouldUpgradeCallback: isUpgrade });
  // By default node:http drops those beyond 2,000 in silence, and with them what a layer should see.
  server.maxHeadersCount = 0;
  /** Connections that have not sent anything yet, and those that have changed their protocol. */
  const silent = new Set<Duplex>();
  const tunnels = new Set<Duplex>();

  const ask = async (request: IncomingMessage, response: ServerResponse, body?: RequestBody, upgrade?: string) => {
    silent.delete(request.socket);
    const gone = new AbortController();
    response.once('close', () => {
      if (response.writableFinished && request.complete) return;
      gone.abort();
      // What still comes is dropped, so that the connection stays usable.
      request.unpipe().resume();
    });
    const { method, url: target, rawHeaders: raw, socket } = request;
    const arrival = { method, target, rawHeaders: raw, remoteAddress: socket.remoteAddress, body, upgrade };
    const arrived = requestOf({ ...arrival, signal: gone.signal }, trusted);
    return arrived ? handler(arrived).catch(() => undefined) : emptyAnswer(400);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse, proceed?: () => void) => {
    const answer = await ask(request, response, bodyOf(request, proceed));
    if (answer) write(answer, response);
  };
  const serveUpgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    tunnels.add(socket);
    socket.once('close', () => tunnels.delete(socket)).on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    const answer = await ask(request, response, undefined, request.headers.upgrade);
    if (answer?.tunnel) {
      response.detachSocket(socket as Socket);
      socket.write(headOf(answer), 'latin1');
      joinConnections(socket, head, answer.tunnel.socket, answer.tunnel.head);
    } else if (answer) {
      response.once('finish', () => socket.end());
      write(answer, response);
    }
  };

  // Whatever goes wrong costs this connection, and not the process.
  const run = (work: Promise<void>, socket: Duplex) => void work.catch(() => socket.destroy());
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  server.on('request', (request, response) => run(serve(request, response), request.socket));
  server.on('checkContinue', (request, response) =>
    run(
      serve(request, response, () => response.writeContinue()),
      request.socket,
    ),
  );
  server.on('upgrade', (request, socket, head) => run(serveUpgrade(request, socket, head), socket));
  server.on('connect', (_, socket) => socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n'));

  return {
    async start() {
      server.listen(port, host);
      await once(server, 'listening');
      const address = server.address();
      return typeof address === 'object' && address ? address.port : port;
    },
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of silent) socket.destroy();
      const limit = new AbortController();
      await Promise.race([closed, clock.sleep(drainMs, limit.signal).catch(() => undefined)]);
      limit.abort();
      server.closeAllConnections();
      for (const socket of tunnels) socket.destroy();
      await closed;
    },
  };
}

/** One with a body could not be handed over with it; and a tunnel of HTTP/2 would carry requests that nobody checks. */
function isUpgrade(request: IncomingMessage): boolean {
  return request.method === 'GET' && !bodyOf(request) && request.headers.upgrade?.toLowerCase() !== 'h2c';
}

/** RFC 9112 §6.3. */
function bodyOf(request: IncomingMessage, proceed?: () => void): RequestBody | undefined {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && (length === undefined || Number(length) === 0)) return undefined;
  const open = () => {
    proceed?.();
    return request;
  };
  return { length: coding === undefined ? Number(length) : undefined, open };
}

function write({ status, headers, body }: Answer, response: ServerResponse): void {
  try {
    response.writeHead(status, STATUS_CODES[status] ?? '', rawHeaders(headers));
  } catch {
    // A head that node:http reads and refuses to write, such as status 099.
    if (body instanceof Readable) body.destroy();
    write(badGateway(), response);
    return;
  }
  if (!(body instanceof Readable)) {
    // In another encoding node:http would write the head in it too.
    if (typeof body === 'string') response.end(body, 'latin1');
    else response.end(body);
    return;
  }
  // Of a stream the client wants the head now; of an answer with a length, head and body fit one packet.
  if (!headers.has('Content-Length')) response.flushHeaders();
  body.once('end', () => response.addTrailers(pairs(body.rawTrailers ?? [])));
  // When either side breaks off, so does the other: that is how it learns. (`pipeline` makes an error of every answer.)
  body.once('error', () => response.destroy());
  body.once('close', () => body.readableEnded || response.destroy());
  response.once('close', () => response.writableFinished || body.destroy());
  body.pipe(response);
}

function headOf({ status, headers }: Answer): string {
  const fields = pairs(rawHeaders(headers)).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${fields.join('')}\r\n`;
}
