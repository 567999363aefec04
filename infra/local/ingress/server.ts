import { createServer, ServerResponse, STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable, type Duplex } from 'node:stream';
import { drain, listen } from '../../../runtime/process/listening.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { answerHalfClosed, halfCloseMs } from '../../../runtime/http/half-close.ts';
import { joinConnections } from '../../../runtime/http/tunnel.ts';
import { badGatewayAnswer, emptyAnswer, type Answer, type Handler, type RequestBody } from './exchange.ts';
import { pairs, rawHeaders } from './headers.ts';
import { toRouteRequest } from './request.ts';
import { createUploads } from './uploads.ts';

const limits = {
  // Go's limit for a request's head: 1 MiB plus 4 KiB.
  maxHeaderSize: 1024 * 1024 + 4096,
  // Traefik's time limits, but no limit for a whole request: an upload may take any time.
  headersTimeout: 60_000,
  requestTimeout: 0,
  keepAliveTimeout: 180_000,
};

/** What a client may still send after its answer, as in Go's `net/http` (maxPostHandlerReadBytes, rstAvoidanceDelay). */
const afterAnswer = { bytes: 256 * 1024, ms: 500 };

/** Why requests are aborted. Without a reason of its own, each abort would create an error with a stack. */
const gone = new Error('the client has disconnected, or sent nothing more');

export interface IngressServerOptions {
  /** Rejects only when the client has disconnected. */
  handler: Handler;
  /** Whether an address's X-Forwarded headers are trusted. */
  trusted: (address: string) => boolean;
  clock: Clock;
  /** 0 for any free port, which `start` returns. */
  port: number;
  host: string;
  /** Maximum milliseconds that running requests may take during a stop. */
  drainMs: number;
  /** How long a client that ended its side waits for its answer; default {@link halfCloseMs}. */
  halfCloseMs?: number | undefined;
}

export interface IngressServer {
  start(): Promise<number>;
  /** Stops accepting requests, waits up to `drainMs` for running ones, then closes all connections. */
  stop(): Promise<void>;
}

/** Creates an HTTP/1.1 server for one handler. */
export function createIngressServer(options: IngressServerOptions): IngressServer {
  const { handler, trusted, clock, port, host, drainMs } = options;
  const server = createServer({ ...limits, shouldUpgradeCallback: isUpgrade });
  // By default node:http silently drops headers beyond 2,000, which a middleware may need.
  server.maxHeadersCount = 0;
  answerHalfClosed(server, clock, options.halfCloseMs ?? halfCloseMs);
  const uploads = createUploads(clock);
  const takeTurn = (work: () => void) => uploads.takeTurn(work);
  /** Connections that have not sent anything yet, and upgraded connections. */
  const unusedSockets = new Set<Duplex>();
  const tunnels = new Set<Duplex>();

  const handle = async (request: IncomingMessage, response: ServerResponse, body?: RequestBody, upgrade?: string) => {
    unusedSockets.delete(request.socket);
    const disconnected = new AbortController();
    const { bytesRead } = request.socket;
    response.once('close', () => {
      if (response.writableFinished && request.complete) return;
      disconnected.abort(gone);
      discardRest(request, { read: request.socket.bytesRead - bytesRead, clock, takeTurn });
    });
    const { method, url: target, rawHeaders: raw, socket } = request;
    const incoming = { method, target, rawHeaders: raw, remoteAddress: socket.remoteAddress, body, upgrade };
    const routeRequest = toRouteRequest({ ...incoming, signal: disconnected.signal }, trusted);
    return routeRequest ? handler(routeRequest).catch(() => undefined) : emptyAnswer(400);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse, proceed?: () => void) => {
    const body = bodyOf(request, proceed);
    if (body && uploads.isLarge(body.length)) {
      unusedSockets.delete(request.socket);
      // Until the body is wanted, or has arrived with its head. node:http would read up to 128 KiB ahead, and after a few MiB
      // of such buffers V8 collects all garbage of the thread, which every other request waits for.
      request.socket.pause();
      await new Promise<void>(takeTurn);
      if (response.closed) return;
      body.countFor = (service) => uploads.begin(response, service);
    }
    const answer = await handle(request, response, body);
    if (answer) write(answer, response);
  };
  const serveUpgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    tunnels.add(socket);
    socket.once('close', () => tunnels.delete(socket)).on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    const answer = await handle(request, response, undefined, request.headers.upgrade);
    if (answer?.tunnel) {
      response.detachSocket(socket as Socket);
      socket.write(headOf(answer), 'latin1');
      joinConnections(socket, head, answer.tunnel.socket, answer.tunnel.head);
    } else if (answer) {
      response.once('finish', () => socket.end());
      write(answer, response);
    }
  };

  // An error closes this connection only.
  const run = (work: Promise<void>, socket: Duplex) => void work.catch(() => socket.destroy());
  server.on('connection', (socket) => {
    unusedSockets.add(socket);
    socket.once('close', () => unusedSockets.delete(socket));
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
    start: () => listen(server, port, host),
    async stop() {
      if (!server.listening) return;
      for (const socket of unusedSockets) socket.destroy();
      await drain(server, {
        clock,
        ms: drainMs,
        onDeadline() {
          for (const socket of tunnels) socket.destroy();
        },
      });
    },
  };
}

/**
 * Reads the little that is left of an answered request's body, so that its connection stays usable. Of a client that still
 * has much to send nothing more is read: it reads the answer, and then its connection is closed.
 * @param options.read bytes of the body that were read so far
 */
function discardRest(
  request: IncomingMessage,
  { read, clock, takeTurn }: { read: number; clock: Clock; takeTurn: (work: () => void) => void },
): void {
  const { socket } = request;
  let bytes = 0;
  const ended = new AbortController();
  const end = () => ended.abort(gone);
  socket.once('close', end);
  request.once('end', () => {
    end();
    socket.off('close', end);
  });
  clock.sleep(afterAnswer.ms, ended.signal).then(
    () => takeTurn(() => socket.destroy()),
    () => undefined,
  );
  const stop = () => {
    request.pause();
    // At its answer, node:http begins to read what was not asked for, in the next ticks.
    process.nextTick(() => socket.pause());
  };
  request.unpipe();
  if (Number(request.headers['content-length'] ?? 0) - read > afterAnswer.bytes) {
    stop();
    return;
  }
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > afterAnswer.bytes) stop();
  });
  request.resume();
}

/** A request with a body cannot be upgraded, and an HTTP/2 tunnel (h2c) would carry unchecked requests. */
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
    // node:http accepts some heads that it cannot write, such as status 099.
    if (body instanceof Readable) body.destroy();
    write(badGatewayAnswer(), response);
    return;
  }
  if (!(body instanceof Readable)) {
    // With another encoding, node:http would write the head in it, too.
    if (typeof body === 'string') response.end(body, 'latin1');
    else response.end(body);
    return;
  }
  // A stream's head is sent at once. With a known length, head and body may share a packet.
  if (!headers.has('Content-Length')) response.flushHeaders();
  body.once('end', () => response.addTrailers(pairs(body.rawTrailers ?? [])));
  // If one side breaks off, the other is closed, too. (`pipeline` would create an error for every answer.)
  body.once('error', () => response.destroy());
  body.once('close', () => body.readableEnded || response.destroy());
  response.once('close', () => response.writableFinished || body.destroy());
  body.pipe(response);
}

function headOf({ status, headers }: Answer): string {
  const fields = pairs(rawHeaders(headers)).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${fields.join('')}\r\n`;
}
