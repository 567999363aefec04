/** Header fields by canonical name, each with its values in order of arrival, as in Go. */
export type Headers = Map<string, string[]>;

/** Fields of one connection, not of the message (RFC 9110 §7.6.1). */
const hopByHop = [
  'Connection',
  'Proxy-Connection',
  'Keep-Alive',
  'Proxy-Authenticate',
  'Proxy-Authorization',
  'Te',
  'Trailer',
  'Transfer-Encoding',
  'Upgrade',
];

/** Canonical names by the names that were received: nearly all of them are the same in all messages. */
const canonicalNames = new Map<string, string>();
/** How many names are kept, and how long ones: clients may send any, which must not fill the memory. */
const nameLimits = { max: 1_000, maxLength: 64 };

/** A name as Go's `textproto.CanonicalMIMEHeaderKey` writes it: `X-Svc_key-Name` for `x-svc_KEY-name`. Pure. */
export function canonicalName(name: string): string {
  let canonical = canonicalNames.get(name);
  if (canonical !== undefined) return canonical;
  canonical = name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
  if (name.length <= nameLimits.maxLength) {
    if (canonicalNames.size >= nameLimits.max) canonicalNames.clear();
    canonicalNames.set(name, canonical);
  }
  return canonical;
}

/** Name and value pairs of node:http's raw header list. Pure. */
export function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : []));
}

/** Parses node:http's raw header list. Pure. */
export function headersOf(raw: readonly string[]): Headers {
  const headers: Headers = new Map();
  for (let index = 0; index < raw.length; index += 2) {
    const name = canonicalName(raw[index] ?? '');
    const value = raw[index + 1] ?? '';
    const values = headers.get(name);
    if (values) values.push(value);
    else headers.set(name, [value]);
  }
  return headers;
}

/**
 * Formats node:http's raw header list. WebSocket fields are spelled as in RFC 6455, since some servers accept only
 * that. Pure.
 */
export function rawHeaders(headers: Headers): string[] {
  const raw: string[] = [];
  for (const [name, values] of headers) {
    const spelled = name.startsWith('Sec-Websocket-') ? name.replace('Websocket', 'WebSocket') : name;
    for (const value of values) raw.push(spelled, value);
  }
  return raw;
}

/** The members of a list field such as Connection. Pure. */
export function listMembers(headers: Headers, name: string): string[] {
  const members = (headers.get(name) ?? []).flatMap((value) => value.split(','));
  return members.map((member) => member.trim()).filter((member) => member !== '');
}

/** The X-Forwarded-For value for the next server. Pure. */
export function forwardedFor({ headers, remoteAddress }: { headers: Headers; remoteAddress: string }): string {
  return [...(headers.get('X-Forwarded-For') ?? []), remoteAddress].join(', ');
}

/** Removes the fields of one connection, including those that Connection names. */
export function removeHopByHop(headers: Headers): void {
  for (const named of listMembers(headers, 'Connection')) headers.delete(canonicalName(named));
  for (const name of hopByHop) headers.delete(name);
}
