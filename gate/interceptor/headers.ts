import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** What concerns this connection only (RFC 9110 §7.6.1), and Expect: node:http has answered the 100 Continue already. */
const notForwarded = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  // With these the sidecar of a function's own pod says that it brings an event; nobody else may.
  'x-svc-event',
  'x-svc-event-attempt',
]);

/** Nearly all other names differ from these in their length already. */
const lengthsNotForwarded = new Set([...notForwarded].map((name) => name.length));

const requestIdShape = /^[\w.:-]{1,128}$/;

/** Ids of requests are told apart, not guessed: one drawing of lots is enough for many. */
const idsOfPrefix = 2 ** 24;
const prefixLength = 23;
let prefix = '';
let drawn = idsOfPrefix;

/** In the shape of a UUID: its last group counts. */
function newRequestId(): string {
  if (drawn === idsOfPrefix) {
    prefix = randomUUID().slice(0, prefixLength);
    drawn = 0;
  }
  // Twelve digits, the first of which makes up for leading zeros.
  return `${prefix}-${(2 ** 44 + drawn++).toString(16)}`;
}

/** The request's own id when it is a safe one, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && requestIdShape.test(given) ? given : newRequestId();
}

/**
 * Headers that a Connection header named and that are dropped with it. What the ingress vouches for stays: a client must
 * not be able to take it away by naming it (RFC 9110 §7.6.1 says that end-to-end fields must not be listed there).
 */
function namedByConnection(value: string | undefined): string[] | undefined {
  if (value === undefined) return undefined;
  const lower = value.toLowerCase();
  if (lower === 'keep-alive' || lower === 'close') return undefined;
  return lower
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !/^(x-svc-|x-forwarded-|x-real-ip$|x-request-id$|host$|content-length$)/.test(name));
}

/**
 * Raw headers (name, value, name, value …) without hop-by-hop ones and without those named `replaced`, in lower case;
 * spelling, order and repeats of the others stay.
 */
export function endToEnd(raw: readonly string[], connection: string | undefined, replaced: string): string[] {
  const named = namedByConnection(connection);
  const kept: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (named || name.length === replaced.length || lengthsNotForwarded.has(name.length)) {
      const lower = name.toLowerCase();
      if (lower === replaced || notForwarded.has(lower) || named?.includes(lower)) continue;
    }
    kept.push(name, raw[index + 1] ?? '');
  }
  return kept;
}

/** Whether a request carries a body, by its framing (RFC 9112 §6.3). */
export function hasBody(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  return coding !== undefined || (length !== undefined && length !== '0');
}

/** The raw headers that a pod gets. The body keeps its framing. */
export function forwardHeaders(request: IncomingMessage, requestId: string): string[] {
  const headers = endToEnd(request.rawHeaders, request.headers.connection, 'x-request-id');
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  else if (request.headers['content-length'] === undefined && mayHaveBody(request.method)) {
    // Without it some servers wait for a body, and some refuse (RFC 9110 §8.6).
    headers.push('Content-Length', '0');
  }
  headers.push('X-Request-Id', requestId);
  return headers;
}

function mayHaveBody(method: string | undefined): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

/** What the interceptor adds to an answer. */
export interface Mark {
  requestId: string;
  /** Whether the request had to wait for a pod. */
  cold: boolean;
  /** The Server-Timing value of a cold start: the steps as offsets from the request's arrival. */
  timing?: string;
}

/** The raw headers that a client gets of a pod's answer. */
export function answerHeaders(
  raw: readonly string[],
  connection: string | undefined,
  { requestId, cold, timing }: Mark,
): string[] {
  const headers = endToEnd(raw, connection, 'x-svc-cold-start');
  if (!hasHeader(headers, 'x-request-id')) headers.push('X-Request-Id', requestId);
  headers.push('X-Svc-Cold-Start', cold ? 'true' : 'false');
  if (timing !== undefined) headers.push('Server-Timing', timing);
  return headers;
}

/** @param lower the name, in lower case */
export function hasHeader(raw: readonly string[], lower: string): boolean {
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index];
    if (name?.length === lower.length && name.toLowerCase() === lower) return true;
  }
  return false;
}

/** The lines of raw headers, each with its end. They are node:http's or have passed it, so that none holds a line break. */
export function headerLines(raw: readonly string[]): string {
  let lines = '';
  for (let index = 0; index + 1 < raw.length; index += 2) lines += `${raw[index]}: ${raw[index + 1]}\r\n`;
  return lines;
}
