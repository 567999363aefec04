/**
 * Header fields by their canonical names, each with its values in the order of arrival. As in Go, whose maps Traefik
 * works on, a field may be there with no value: then it is not sent, and nothing adds it.
 */
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

/** Reads node:http's list of names and values. Pure. */
export function headersOf(raw: readonly string[]): Headers {
  const headers: Headers = new Map();
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = canonicalName(raw[index] ?? '');
    const values = headers.get(name);
    if (values) values.push(raw[index + 1] ?? '');
    else headers.set(name, [raw[index + 1] ?? '']);
  }
  return headers;
}

/** Writes node:http's list. Some servers know a WebSocket's fields only as RFC 6455 spells them. Pure. */
export function rawHeaders(headers: Headers): string[] {
  return [...headers].flatMap(([name, values]) => {
    const spelled = name.replace(/^Sec-Websocket-/, 'Sec-WebSocket-');
    return values.flatMap((value) => [spelled, value]);
  });
}

/** A copy that can be changed on its own. Pure. */
export function copyHeaders(headers: Headers): Headers {
  return new Map([...headers].map(([name, values]) => [name, [...values]]));
}

/** The first value of a field, or an empty string. `name` is canonical. Pure. */
export function firstValue(headers: Headers, name: string): string {
  return headers.get(name)?.[0] ?? '';
}

/** The members of a field that is a list, such as Connection. Pure. */
export function listMembers(headers: Headers, name: string): string[] {
  const members = (headers.get(name) ?? []).flatMap((value) => value.split(','));
  return members.map((member) => member.trim()).filter((member) => member !== '');
}

/** Removes what is of one connection only, fields that Connection names included. */
export function removeHopByHop(headers: Headers): void {
  for (const named of listMembers(headers, 'Connection')) headers.delete(canonicalName(named));
  for (const name of hopByHop) headers.delete(name);
}
