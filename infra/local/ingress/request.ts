import { hostname } from 'node:os';
import type { RouteRequest } from './exchange.ts';
import { canonicalName, headersOf, listMembers } from './headers.ts';

/** Headers that this entry point sets. Their values are accepted only from trusted proxies. */
const forwardedHeaders = [
  'X-Forwarded-Proto',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Port',
  'X-Forwarded-Server',
  'X-Forwarded-Uri',
  'X-Forwarded-Method',
  'X-Forwarded-Prefix',
  'X-Forwarded-Tls-Client-Cert',
  'X-Forwarded-Tls-Client-Cert-Info',
  'X-Real-Ip',
];
const self = hostname();

/** A request as node:http delivers it. */
export interface IncomingRequest extends Pick<RouteRequest, 'body' | 'upgrade' | 'signal'> {
  method: string | undefined;
  /** The request target as sent. */
  target: string | undefined;
  rawHeaders: readonly string[];
  remoteAddress: string | undefined;
}

/**
 * Converts an incoming request for the routes, as Traefik's entry point does before it evaluates rules.
 * @param trusted whether an address's own X-Forwarded headers are trusted
 * @returns undefined for what Traefik answers with 400: no host or several, a fragment, an invalid encoding, another
 * form of target
 */
export function toRouteRequest(
  { method, target, rawHeaders, remoteAddress, ...rest }: IncomingRequest,
  trusted: (address: string) => boolean,
): RouteRequest | undefined {
  const headers = headersOf(rawHeaders);
  const parsed = parseTarget(target ?? '', headers.get('Host') ?? []);
  if (!parsed || method === undefined || remoteAddress === undefined) return undefined;
  // Removed, so that neither client nor middlewares can affect them: node:http frames the message.
  for (const name of ['Host', 'Content-Length', 'Transfer-Encoding', 'Expect']) headers.delete(name);
  const request = { ...rest, ...parsed, method, headers, remoteAddress };
  setForwardedHeaders(request, trusted(remoteAddress));
  return request;
}

/**
 * Sets the X-Forwarded headers to what this entry point sees and removes the fields that Connection names, so that a
 * client cannot remove headers that are added later.
 */
function setForwardedHeaders({ headers, host, remoteAddress, upgrade }: RouteRequest, trusted: boolean): void {
  if (!trusted) for (const name of forwardedHeaders) headers.delete(name);
  const setIfMissing = (name: string, value: string) => {
    if (!headers.get(name)?.[0]) headers.set(name, [value]);
  };
  setIfMissing('X-Real-Ip', remoteAddress);
  setIfMissing('X-Forwarded-Proto', upgrade?.toLowerCase() === 'websocket' ? 'ws' : 'http');
  const secure = /^(https|wss)$/.test(headers.get('X-Forwarded-Proto')?.[0] ?? '');
  setIfMissing('X-Forwarded-Port', /:(\d+)$/.exec(host)?.[1] ?? (secure ? '443' : '80'));
  setIfMissing('X-Forwarded-Host', host);
  headers.set('X-Forwarded-Server', [self]);
  for (const named of listMembers(headers, 'Connection').map(canonicalName)) {
    if (!forwardedHeaders.includes(named)) headers.delete(named);
  }
  headers.delete('Connection');
}

/** Characters that must be encoded in a path (RFC 3986 §3.3). */
const otherThanPath = /[^\w\-.~!$&'()*+,;=:@/%]/g;
const unreserved = /[\w\-.~]/;

/**
 * Host and path of a request target. The host is the target's own if that is absolute (RFC 9112 §3.2.2). The path is
 * normalized: unreserved characters are not encoded, and `.`, `..` and empty segments are removed (Traefik's
 * `sanitizePath`).
 */
function parseTarget(target: string, hosts: readonly string[]): { host: string; uri: string } | undefined {
  const absolute = /^https?:\/\/([^/?#@]+)([/?].*)?$/is.exec(target);
  const host = absolute?.[1] ?? hosts[0];
  if (host === undefined || !/^[\w.:\-[\]]+$/.test(host) || hosts.length > 1) return undefined;
  const rest = absolute ? (absolute[2] ?? '') : target;
  const relative = absolute && !rest.startsWith('/') ? `/${rest}` : rest;
  const [, path = '', query = ''] = /^([^?]*)(.*)$/s.exec(relative) ?? [];
  if (!path.startsWith('/') || path.includes('#') || /%(?![0-9a-f]{2})/i.test(path)) return undefined;
  // Go accepts both as separators in a query; one spelling for checker and pods.
  return { host, uri: cleanPath(normalizeEncoding(path)) + query.replaceAll(';', '&') };
}

/** One encoding per character (RFC 3986 §6.2.2). */
function normalizeEncoding(path: string): string {
  const encoded = path.replace(otherThanPath, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return encoded.replace(/%[0-9a-f]{2}/gi, (code) => {
    const char = String.fromCharCode(parseInt(code.slice(1), 16));
    return unreserved.test(char) ? char : code.toUpperCase();
  });
}

function cleanPath(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  const cleaned = `/${segments.join('/')}`;
  return path.endsWith('/') && cleaned !== '/' ? `${cleaned}/` : cleaned;
}
