import type { Duplex, Readable } from 'node:stream';
import type { Headers } from './headers.ts';

/** A request on its way through a route; layers may change what it says. */
export interface RouteRequest {
  method: string;
  /** As the client wrote it. */
  host: string;
  /** Path and query. */
  uri: string;
  /** Without Host and the framing of the body. */
  headers: Headers;
  /** The address of whoever opened the connection. */
  remoteAddress: string;
  body: RequestBody | undefined;
  /** The protocol to which the connection is to change, such as `websocket`. */
  upgrade: string | undefined;
  /** Aborted when the client leaves. */
  signal: AbortSignal;
}

export interface RequestBody {
  /** In bytes; undefined for a chunked one. */
  length: number | undefined;
  /** Begins to read: a client that waits for `100 Continue` gets it now. Once at most. */
  open(): Readable;
}

export interface Answer {
  status: number;
  headers: Headers;
  /** A stream's trailers, where it has some, are read at its end. */
  body: (Readable & { rawTrailers?: string[] }) | Buffer | string;
  /** The other end of a connection that has changed its protocol, and what came first on it. */
  tunnel?: { socket: Duplex; head: Buffer };
  /** No connection to a pod could be made, so nothing was sent: the request may be given to another. */
  unsent?: true;
}

/** Answers a request; rejects when it was aborted, or when there is nobody to answer it. */
export type Handler = (request: RouteRequest) => Promise<Answer>;

/** A middleware: what it makes of the handler behind it. */
export type Layer = (next: Handler) => Handler;

/** An answer without a body. Pure. */
export function emptyAnswer(status: number): Answer {
  return { status, headers: new Map([['Content-Length', ['0']]]), body: '' };
}

/** An answer as Go's `http.Error` gives it. Pure. */
export function errorAnswer(status: number, text: string): Answer {
  const headers: Headers = new Map([
    ['Content-Type', ['text/plain; charset=utf-8']],
    ['X-Content-Type-Options', ['nosniff']],
    ['Content-Length', [String(text.length + 1)]],
  ]);
  return { status, headers, body: `${text}\n` };
}

/** What Traefik answers where no route matches. Pure. */
export function notFound(): Answer {
  return errorAnswer(404, '404 page not found');
}

/** What Traefik answers for a pod that does not. Pure. */
export function badGateway(): Answer {
  return { status: 502, headers: new Map(), body: 'Bad Gateway' };
}
