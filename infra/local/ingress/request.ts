import { hostname } from 'node:os';
import type { RouteRequest } from './exchange.ts';
import { canonicalName, headersOf, listMembers } from './headers.ts';

/** What the entrance vouches for, and so takes from nobody whom it does not trust. */
const vouched = [
  ...['X-Forwarded-Proto', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Port', 'X-Forwarded-Server'],
  ...['X-Forwarded-Uri', 'X-Forwarded-Method', 'X-Forwarded-Prefix', 'X-Forwarded-Tls-Client-Cert'],
  ...['X-Forwarded-Tls-Client-Cert-Info', 'X-Real-Ip'],
];
const self = hostname();

/** A request as node:http delivers it. */
export interface Arrival extends Pick<RouteRequest, 'body' | 'upgrade' | 'signal'> {
  method: string | undefined;
  /** The request target, as it was sent. */
  target: string | undefined;
  rawHeaders: readonly string[];
  remoteAddress: string | undefined;
}

/**
 * Makes a request for routes of what arrived, as Traefik's entry point does before any rule is looked at.
 * @param trusted whose own X-Forwarded headers are believed
 * @returns undefined for what Traefik answers 400: no or several hosts, a fragment, a broken encoding, another form
 */
export function requestOf(
  { method, target, rawHeaders, remoteAddress, ...rest }: Arrival,
  trusted: (address: string) => boolean,
): RouteRequest | undefined {
  const headers = headersOf(rawHeaders);
  const parsed = parseTarget(target ?? '', headers.get('Host') ?? []);
  if (!parsed || method === undefined || remoteAddress === undefined) return undefined;
  // Kept apart, so that nothing a client or a layer says of them matters: node:http frames what was received.
  for (const name of ['Host', 'Content-Length', 'Transfer-Encoding', 'Expect']) headers.delete(name);
  const request = { ...rest, ...parsed, method, headers, remoteAddress };
  vouch(request, trusted(remoteAddress));
  return request;
}

/**
 * Makes the X-Forwarded headers say what was seen here, and drops what Connection names: so nothing that is added later
 * can be taken away by the client.
 */
function vouch({ headers, host, remoteAddress, upgrade }: RouteRequest, trusted: boolean): void {
  if (!trusted) for (const name of vouched) headers.delete(name);
  const say = (name: string, value: string) => {
    if (!headers.get(name)?.[0]) headers.set(name, [value]);
  };
  say('X-Real-Ip', remoteAddress);
  say('X-Forwarded-Proto', upgrade?.toLowerCase() === 'websocket' ? 'ws' : 'http');
  const secure = /^(https|wss)$/.test(headers.get('X-Forwarded-Proto')?.[0] ?? '');
  say('X-Forwarded-Port', /:(\d+)$/.exec(host)?.[1] ?? (secure ? '443' : '80'));
  say('X-Forwarded-Host', host);
  headers.set('X-Forwarded-Server', [self]);
  for (const named of listMembers(headers, 'Connection').map(canonicalName)) {
    if (!vouched.includes(named)) headers.delete(named);
  }
  headers.delete('Connection');
}

/** In a path these may stand as they are (RFC 3986 §3.3), and nothing else. */
const otherThanPath = /[^\w\-.~!$&'()*+,;=:@/%]/g;
const unreserved = /[\w\-.~]/;

/**
 * Host and path of a request target; the host is the target's own where that is absolute (RFC 9112 §3.2.2), the path in
 * the one spelling on which all agree: letters are not encoded, and `.`, `..` and empty segments are gone (Traefik's
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
  // Go reads both as what parts a query; one spelling for the checker and for servers.
  return { host, uri: cleanPath(normalized(path)) + query.replaceAll(';', '&') };
}

/** One encoding for each character (RFC 3986 §6.2.2). */
function normalized(path: string): string {
  const encoded = path.replace(otherThanPath, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return encoded.replace(/%[0-9a-f]{2}/gi, (code) => {
    const char = String.fromCharCode(parseInt(code.slice(1), 16));
    return unreserved.test(char) ? char : code.toUpperCase();
  });
}

function cleanPath(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const cleaned = `/${kept.join('/')}`;
  return path.endsWith('/') && cleaned !== '/' ? `${cleaned}/` : cleaned;
}
