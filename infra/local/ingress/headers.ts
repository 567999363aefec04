/** Header fields by their canonical names, each with its values in the order of arrival, as in Go. */
export type Headers = Map<string, string[]>;

/** RFC 9110 §7.6.1: of one connection, not of the message. */
const hopByHop = [
  ...['Connection', 'Proxy-Connection', 'Keep-Alive', 'Proxy-Authenticate', 'Proxy-Authorization'],
  ...['Te', 'Trailer', 'Transfer-Encoding', 'Upgrade'],
];

/** The name as Go's `textproto.CanonicalMIMEHeaderKey` spells it: `x-svc_KEY-name` is `X-Svc_key-Name`. Pure. */
export function canonicalName(name: string): string {
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** The names and values of node:http's raw list, in pairs. Pure. */
export function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : []));
}

/** Reads node:http's raw list. Pure. */
export function headersOf(raw: readonly string[]): Headers {
  const headers: Headers = new Map();
  for (let index = 0; index < raw.length; index += 2) {
    const name = canonicalName(raw[index] ?? '');
    const value = raw[index + 1] ?? '';
    const known = headers.get(name);
    if (known) known.push(value);
    else headers.set(name, [value]);
  }
  return headers;
}

/** Writes node:http's raw list. Some servers know a WebSocket's fields only as RFC 6455 spells them. Pure. */
export function rawHeaders(headers: Headers): string[] {
  const raw: string[] = [];
  for (const [name, values] of headers) {
    const spelled = name.startsWith('Sec-Websocket-') ? name.replace('Websocket', 'WebSocket') : name;
    for (const value of values) raw.push(spelled, value);
  }
  return raw;
}

/** The members of a field that is a list, such as Connection. Pure. */
export function listMembers(headers: Headers, name: string): string[] {
  const members = (headers.get(name) ?? []).flatMap((value) => value.split(','));
  return members.map((member) => member.trim()).filter((member) => member !== '');
}

/** The chain of addresses that a request came by, for the server behind. Pure. */
export function forwardedFor({ headers, remoteAddress }: { headers: Headers; remoteAddress: string }): string {
  return [...(headers.get('X-Forwarded-For') ?? []), remoteAddress].join(', ');
}

/** Removes what is of one connection only, fields that Connection names included. */
export function removeHopByHop(headers: Headers): void {
  for (const named of listMembers(headers, 'Connection')) headers.delete(canonicalName(named));
  for (const name of hopByHop) headers.delete(name);
}
