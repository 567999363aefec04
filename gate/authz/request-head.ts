import { authorizePath } from '../../runtime/contracts/gate-denials.ts';

/** The headers that a verdict depends on, with the values that node:http would give. */
class GateHeaders {
  [name: string]: string | undefined;
  'x-api-key': string | undefined = undefined;
  'x-forwarded-for': string | undefined = undefined;
  'x-forwarded-method': string | undefined = undefined;
  'access-control-request-method': string | undefined = undefined;
}

/** The head of a usual request of the ingress. */
export interface RequestHead {
  /** The path with its query. */
  url: string;
  headers: GateHeaders;
}

const [tab, lineFeed, carriageReturn, space, colon] = [9, 10, 13, 32, 58] as const;

const start = Buffer.from(`GET ${authorizePath}?app=`);
const urlStart = 'GET '.length;
const version = Buffer.from(' HTTP/1.1\r\n');

/** Which bytes a kind of text consists of: 1 at each. */
function bytesOf(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => Number(pattern.test(String.fromCharCode(byte))));
}

const inAppId = bytesOf(/[\w-]/);
/** A field name (RFC 9110 §5.6.2). */
const inName = bytesOf(/[\w!#$%&'*+\-.^`|~]/);
/** A field value (RFC 9110 §5.5) with the blanks around it. */
const inValue = bytesOf(/[\t\x20-\x7e\x80-\xff]/);

/** A field name in lower case, to compare bytes with. */
function nameBytes(name: string): Uint8Array {
  return Buffer.from(name);
}

const keepAlive = nameBytes('keep-alive');

const readNames = ['x-api-key', 'x-forwarded-for', 'x-forwarded-method', 'access-control-request-method'] as const;
type ReadField = (typeof readNames)[number];

/** Fields that are read, by the length of their names. */
const readFields = new Map<number, { name: ReadField; bytes: Uint8Array }>(
  readNames.map((name) => [name.length, { name, bytes: nameBytes(name) }]),
);

/**
 * Fields that change how a request is read or what follows it, by the length of their names. What these lengths have in
 * common with those of {@link readFields} is nothing.
 */
const framingFields = new Map<number, Uint8Array>(
  ['expect', 'upgrade', 'content-length', 'proxy-connection', 'transfer-encoding'].map((name) => [
    name.length,
    nameBytes(name),
  ]),
);

const host = nameBytes('host');
const connection = nameBytes('connection');

/**
 * Reads the head of a usual request: `GET /authorize?app=<id>`, HTTP/1.1, one Host, no body, and a connection that stays
 * open. What it accepts, node:http accepts with the same values (RFC 9112).
 * @param from where the head begins
 * @param end where the empty line's preceding line ends: the first CR LF CR LF after `from`
 * @returns undefined for any other head, whether it is valid or not
 */
export function readHead(bytes: Buffer, from: number, end: number): RequestHead | undefined {
  if (!hasBytes(bytes, from, start)) return undefined;
  let at = from + start.length;
  while (inAppId[bytes[at] ?? 0] === 1) at++;
  if (!hasBytes(bytes, at, version)) return undefined;
  const url = bytes.toString('latin1', from + urlStart, at);
  const headers = new GateHeaders();
  let hosts = 0;
  at += version.length;
  while (at < end) {
    const nameStart = at;
    while (inName[bytes[at] ?? 0] === 1) at++;
    const nameEnd = at;
    if (nameEnd === nameStart || bytes[at] !== colon) return undefined;
    at++;
    const valueStart = at;
    while (inValue[bytes[at] ?? 0] === 1) at++;
    if (bytes[at] !== carriageReturn || bytes[at + 1] !== lineFeed) return undefined;
    const length = nameEnd - nameStart;
    const read = readFields.get(length);
    if (read !== undefined) {
      if (isName(bytes, nameStart, read.bytes)) addValue(headers, read.name, textWithoutBlanks(bytes, valueStart, at));
    } else if (length === host.length) {
      if (isName(bytes, nameStart, host)) hosts++;
    } else if (length === connection.length) {
      if (isName(bytes, nameStart, connection) && !isKeepAlive(bytes, valueStart, at)) return undefined;
    } else {
      const framing = framingFields.get(length);
      if (framing !== undefined && isName(bytes, nameStart, framing)) return undefined;
    }
    at += 2;
  }
  return hosts === 1 ? { url, headers } : undefined;
}

function hasBytes(bytes: Buffer, at: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++) if (bytes[at + index] !== expected[index]) return false;
  return true;
}

/** Whether a field name of this length, in any case, is at this place. */
function isName(bytes: Buffer, at: number, name: Uint8Array): boolean {
  // In ASCII, this bit makes a letter small, and no other character of a field name a letter or a hyphen.
  for (let index = 0; index < name.length; index++) if (((bytes[at + index] ?? 0) | 0x20) !== name[index]) return false;
  return true;
}

function isKeepAlive(bytes: Buffer, from: number, to: number): boolean {
  const first = firstAfterBlanks(bytes, from, to);
  return endBeforeBlanks(bytes, first, to) - first === keepAlive.length && isName(bytes, first, keepAlive);
}

/** Repeated fields are joined with a comma, as node:http does. */
function addValue(headers: GateHeaders, name: ReadField, value: string): void {
  // Not `headers[name]`, which V8 would look up each time.
  switch (name) {
    case 'x-api-key':
      headers['x-api-key'] = joined(headers['x-api-key'], value);
      return;
    case 'x-forwarded-for':
      headers['x-forwarded-for'] = joined(headers['x-forwarded-for'], value);
      return;
    case 'x-forwarded-method':
      headers['x-forwarded-method'] = joined(headers['x-forwarded-method'], value);
      return;
    case 'access-control-request-method':
      headers['access-control-request-method'] = joined(headers['access-control-request-method'], value);
      return;
    default:
      name satisfies never;
  }
}

function joined(previous: string | undefined, value: string): string {
  return previous === undefined ? value : `${previous}, ${value}`;
}

function textWithoutBlanks(bytes: Buffer, from: number, to: number): string {
  const first = firstAfterBlanks(bytes, from, to);
  return bytes.toString('latin1', first, endBeforeBlanks(bytes, first, to));
}

function firstAfterBlanks(bytes: Buffer, from: number, to: number): number {
  let first = from;
  while (first < to && isBlank(bytes[first])) first++;
  return first;
}

function endBeforeBlanks(bytes: Buffer, from: number, to: number): number {
  let end = to;
  while (end > from && isBlank(bytes[end - 1])) end--;
  return end;
}

function isBlank(byte: number | undefined): boolean {
  return byte === space || byte === tab;
}
