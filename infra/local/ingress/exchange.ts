import type { Duplex, Readable } from 'node:stream';
import type { Headers } from './headers.ts';

/** A request in a route. Middlewares may change it. */
export interface RouteRequest {
  method: string;
  /** As the client sent it. */
  host: string;
  /** Path and query. */
  uri: string;
  /** Without Host and the fields that frame the body. */
  headers: Headers;
  /** The client's address on this connection. */
  remoteAddress: string;
  body: RequestBody | undefined;
  /** The protocol to upgrade the connection to, such as `websocket`. */
  upgrade: string | undefined;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
}

export interface RequestBody {
  /** In bytes; undefined for a chunked body. */
  length: number | undefined;
  /** Set for a large one: counts it for the Service that gets it. */
  countFor?: ((service: string) => HeadStart | undefined) | undefined;
  /** Starts reading, and sends `100 Continue` if the client waits for it. Call it at most once. */
  open(): Readable;
}

/**
 * The wait between a head, which a pod gets alone at first, so that a refusal costs no body, and its body: resolves when
 * the body is to be sent all the same, and rejects when aborted.
 */
export type HeadStart = (signal: AbortSignal) => Promise<void>;

export interface Answer {
  status: number;
  headers: Headers;
  /** A stream's trailers are read at its end. */
  body: (Readable & { rawTrailers?: string[] }) | Buffer | string;
  /** The upgraded connection to the pod and its first bytes. */
  tunnel?: { socket: Duplex; head: Buffer };
  /** Set when no connection to the pod was made, so that the request may be sent to another pod. */
  unsent?: true;
}

/** Responds to a request. Rejects when the request is aborted or no pod responds. */
export type Handler = (request: RouteRequest) => Promise<Answer>;

/** A middleware: wraps the next handler. */
export type Layer = (next: Handler) => Handler;

/** A response without a body. Pure. */
export function emptyAnswer(status: number): Answer {
  return { status, headers: new Map([['Content-Length', ['0']]]), body: '' };
}

/** A response in the form of Go's `http.Error`. Pure. */
export function errorAnswer(status: number, text: string): Answer {
  const headers: Headers = new Map([
    ['Content-Type', ['text/plain; charset=utf-8']],
    ['X-Content-Type-Options', ['nosniff']],
    ['Content-Length', [String(text.length + 1)]],
  ]);
  return { status, headers, body: `${text}\n` };
}

/** Traefik's response when no route matches. Pure. */
export function notFoundAnswer(): Answer {
  return errorAnswer(404, '404 page not found');
}

/** Traefik's response when the pod does not respond. Pure. */
export function badGatewayAnswer(): Answer {
  return { status: 502, headers: new Map(), body: 'Bad Gateway' };
}
