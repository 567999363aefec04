import { createServer, ServerResponse, STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline, Readable, type Duplex } from 'node:stream';
import { joinConnections } from '../../../runtime/host/tunnel.ts';
import { headBytes, type Entrance } from './entrance.ts';
import { badGateway, emptyAnswer, type Answer, type Handler, type RequestBody } from './exchange.ts';
import { rawHeaders } from './headers.ts';

/** As Traefik has them, but for the time of a whole request: an upload may take as long as it takes. */
const times = { headersTimeout: 60_000, requestTimeout: 0, keepAliveTimeout: 180_000 };

/**
 * A server of HTTP/1.1 that does not listen yet.
 * @param handler rejects only when the client has gone
 * @param tunnels holds the connections that have changed their protocol
 */
export function createHttp1Server(entrance: Entrance, handler: Handler, tunnels: Set<Duplex>): Server {
  const server = createServer({ ...times, maxHeaderSize: headBytes, shouldUpgradeCallback: isUpgrade });
  // By default node:http drops those beyond 2,000 in silence, and with them what a layer should see.
  server.maxHeadersCount = 0;

  const ask = async (request: IncomingMessage, response: ServerResponse, body?: RequestBody, upgrade?: string) => {
    const gone = new AbortController();
    response.once('close', () => {
      if (response.writableFinished && request.complete) return;
      gone.abort();
      // What still comes is dropped, so that the connection stays usable.
      request.unpipe().resume();
    });
    const { method, url: uri, rawHeaders: raw, socket } = request;
    const arrival = { method, uri, rawHeaders: raw, remoteAddress: socket.remoteAddress, body, upgrade };
    const entered = entrance({ ...arrival, signal: gone.signal });
    return entered ? handler(entered).catch(() => undefined) : emptyAnswer(400);
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
  server.on('request', (request, response) => run(serve(request, response), request.socket));
  server.on('checkContinue', (request, response) => {
    const proceed = () => response.writeContinue();
    run(serve(request, response, proceed), request.socket);
  });
  server.on('upgrade', (request, socket, head) => run(serveUpgrade(request, socket, head), socket));
  server.on('connect', (_, socket) => socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n'));
  return server;
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

function write(answer: Answer, response: ServerResponse): void {
  const { status, headers, body } = answer;
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
  // When either side breaks off, so does the other: that is how it learns.
  pipeline(body, response, () => undefined);
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : []));
}

function headOf({ status, headers }: Answer): string {
  const fields = pairs(rawHeaders(headers)).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${fields.join('')}\r\n`;
}
