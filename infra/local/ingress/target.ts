/** What a request asks for. */
export interface Target {
  /** The host as the client wrote it, perhaps with a port; from the target when that is absolute (RFC 9112 §3.2.2). */
  host: string;
  /** Path and query, the path without detours; what the server behind gets. */
  uri: string;
}

/** In a path these may stand as they are (RFC 3986 §3.3), and nothing else. */
const otherThanPath = /[^\w\-.~!$&'()*+,;=:@/%]/g;
const unreserved = /[\w\-.~]/;

/**
 * The target of a request, with its path in the one spelling on which all agree: letters are not encoded, and `.`, `..` and empty segments are gone (Traefik's `sanitizePath`).
 * @returns undefined for what Traefik answers 400: no or several hosts, a fragment, a broken encoding, another form
 */
export function parseTarget(requestUri: string, hosts: readonly string[]): Target | undefined {
  const absolute = /^https?:\/\/([^/?#@]+)([/?].*)?$/is.exec(requestUri);
  const host = absolute?.[1] ?? hosts[0];
  if (host === undefined || !/^[\w.:\-[\]]+$/.test(host) || hosts.length > 1) return undefined;
  const rest = absolute ? (absolute[2] ?? '') : requestUri;
  const relative = absolute && !rest.startsWith('/') ? `/${rest}` : rest;
  const [, path = '', query = ''] = /^([^?]*)(.*)$/s.exec(relative) ?? [];
  if (!path.startsWith('/') || path.includes('#') || /%(?![0-9a-f]{2})/i.test(path)) return undefined;
  // Go reads both as what parts a query; one spelling for the checker and for servers.
  return { host, uri: cleanPath(normalized(path)) + query.replaceAll(';', '&') };
}

/** The host as rules compare it: in lower case, without port and final dot. Pure. */
export function canonicalHost(host: string): string {
  return host
    .replace(/^([^:]*):[^:]*$/, '$1')
    .toLowerCase()
    .replace(/\.$/, '');
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
