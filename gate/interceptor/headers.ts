import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Hop-by-hop headers (RFC 9110 §7.6.1), and Expect, because node:http has already sent the 100 Continue. */
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
]);
/**
 * Only the sidecar in a function's own pod may set these, to mark a request as an event. Servers may read any character
 * other than letters and digits as the same separator.
 */
const eventHeader = /^x[^a-z0-9]svc[^a-z0-9]event(?:[^a-z0-9]attempt)?$/;

/** Rejects most other names by their length. */
const lengthsNotForwarded = new Set(
  [...notForwarded, 'x-svc-event', 'x-svc-event-attempt'].map(({ length }) => length),
);

const requestIdShape = /^[\w.:-]{1,128}$/;

/** Request ids have to be unique but not secret, so that one random prefix serves many. */
const idsOfPrefix = 2 ** 24;
const prefixLength = 23;
let prefix = '';
let drawn = idsOfPrefix;

/** In the shape of a UUID whose last group is a counter. */
function newRequestId(): string {
  if (drawn === idsOfPrefix) {
    prefix = randomUUID().slice(0, prefixLength);
    drawn = 0;
  }
  // The offset makes every number twelve digits long.
  return `${prefix}-${(2 ** 44 + drawn++).toString(16)}`;
}

/** The request's own id if it is valid, otherwise a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const requestId = request.headers['x-request-id'];
  return typeof requestId === 'string' && requestIdShape.test(requestId) ? requestId : newRequestId();
}

/**
 * Headers that the Connection header names, which are dropped with it. Headers set by the ingress are kept, so that a
 * client cannot remove them (RFC 9110 §7.6.1 does not allow end-to-end fields in Connection).
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
 * Raw headers (name, value, name, value …) without hop-by-hop headers and those named `replaced`, in lower case. The
 * spelling, order and repetition of the others are kept.
 */
function endToEnd(raw: readonly string[], connection: string | undefined, replaced: string): string[] {
  const named = namedByConnection(connection);
  const headers: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (named || name.length === replaced.length || lengthsNotForwarded.has(name.length)) {
      const lower = name.toLowerCase();
      if (lower === replaced || notForwarded.has(lower) || eventHeader.test(lower) || named?.includes(lower)) continue;
    }
    headers.push(name, raw[index + 1] ?? '');
  }
  return headers;
}

/** Whether a request has a body, by its framing (RFC 9112 §6.3). */
export function hasBody(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  return coding !== undefined || (length !== undefined && length !== '0');
}

/** The raw headers for the pod. The framing of the body is unchanged. */
export function forwardHeaders(request: IncomingMessage, requestId: string): string[] {
  const headers = endToEnd(request.rawHeaders, request.headers.connection, 'x-request-id');
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  else if (request.headers['content-length'] === undefined && mayHaveBody(request.method)) {
    // Some servers otherwise wait for a body or reject the request (RFC 9110 §8.6).
    headers.push('Content-Length', '0');
  }
  if (/(?:^|[\s,])trailers(?:$|[\s,;])/i.test(String(request.headers.te))) {
    headers.push('TE', 'trailers');
  }
  headers.push('X-Request-Id', requestId);
  return headers;
}

function mayHaveBody(method: string | undefined): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

/** The headers that the interceptor adds to a response. */
export interface Mark {
  requestId: string;
  /** Whether the request waited for a pod. */
  cold: boolean;
  /** The Server-Timing value of a cold start: its steps as offsets from the request's arrival. */
  timing?: string;
}

/** The raw headers of a pod's response for the client. */
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

/** Adds the names of trailers that a pod announces to the headers for the client. */
export function announceTrailers(raw: readonly string[], headers: string[]): void {
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index]?.toLowerCase() === 'trailer') headers.push('Trailer', raw[index + 1] ?? '');
  }
}

/** The trailers of a pod's response for the client, as pairs. */
export function answerTrailers(raw: readonly string[]): [string, string][] {
  const headers = endToEnd(raw, undefined, 'x-svc-cold-start');
  const pairs: [string, string][] = [];
  for (let index = 0; index < headers.length; index += 2) pairs.push([headers[index] ?? '', headers[index + 1] ?? '']);
  return pairs;
}

/** @param lower the name in lower case */
function hasHeader(raw: readonly string[], lower: string): boolean {
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index];
    if (name?.length === lower.length && name.toLowerCase() === lower) return true;
  }
  return false;
}

/**
 * The lines of raw headers, each with its line end. node:http has validated them, so that none contains a line break.
 */
export function headerLines(raw: readonly string[]): string {
  let lines = '';
  for (let index = 0; index + 1 < raw.length; index += 2) lines += `${raw[index]}: ${raw[index + 1]}\r\n`;
  return lines;
}
