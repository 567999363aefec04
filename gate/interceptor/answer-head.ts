/** The head of a pod's answer. */
export interface AnswerHead {
  status: number;
  statusMessage: string;
  /** Name, value, name, value …, as received, in Latin-1. */
  rawHeaders: string[];
  /** The value of Connection; repeated headers are joined with a comma. */
  connection: string | undefined;
  /** The Content-Length; undefined without one. */
  length: number | undefined;
  /** Whether the body is chunked, so that trailers may follow it. */
  chunked: boolean;
  /** The idle time of `Keep-Alive: timeout=…`, after which the pod closes the connection. */
  idleSeconds: number | undefined;
}

/** A head and what it says about the connection. */
export interface ParsedHead {
  head: AnswerHead;
  /** Whether the pod keeps the connection open after this answer. */
  keepAlive: boolean;
}

/** Largest head of an answer, and largest sum of its trailers: four times what Node.js accepts by default. */
export const maxAnswerHead = 64 * 1024;

/** The head is larger than {@link maxAnswerHead}. */
export class OversizedHead extends Error {
  override readonly name = 'OversizedHead';
}

/** The bytes are not an HTTP answer, or its end is ambiguous. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer';
}

/** HTTP-version, status and reason (RFC 9112 §4); node:http cannot write a status below 100. */
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: (.*))?$/;
const digits = /^\d{1,15}$/;
const idleTime = /(?:^|[\s,])timeout=(\d{1,9})/i;
const close = /(?:^|[\s,])close(?:$|[\s,])/i;
/** A field name (RFC 9110 §5.6.2). */
const token = /^[\w!#$%&'*+\-.^`|~]+$/;
/** Control characters other than tab, and line breaks other than CR LF. */
// oxlint-disable-next-line no-control-regex
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;

/**
 * Parses the text from the status line up to, and without, the empty line.
 * @throws MalformedAnswer
 */
export function parseHead(text: string): ParsedHead {
  if (forbidden.test(text)) throw new MalformedAnswer('a control character in the head');
  const firstEnd = text.indexOf('\r\n');
  const line = statusLine.exec(firstEnd < 0 ? text : text.slice(0, firstEnd));
  if (!line) throw new MalformedAnswer('no status line');
  const [, minor, status, statusMessage = ''] = line;
  const head: AnswerHead = {
    status: Number(status),
    statusMessage,
    rawHeaders: firstEnd < 0 ? [] : parseFields(text, firstEnd + 2),
    connection: undefined,
    length: undefined,
    chunked: false,
    idleSeconds: undefined,
  };
  const coding = readFraming(head);
  if (coding !== undefined && (coding !== 'chunked' || head.length !== undefined || minor === '0')) {
    throw new MalformedAnswer('ambiguous framing');
  }
  // node:http does not take `chunked` followed by a tab for the coding, and reads to the end of the connection.
  if (coding !== undefined && /\ntransfer-encoding:[^\r\n]*\t/i.test(text))
    throw new MalformedAnswer('ambiguous framing');
  head.chunked = coding !== undefined;
  const keepAlive = minor === '1' && (head.connection === undefined || !close.test(head.connection));
  return { head, keepAlive };
}

/**
 * Parses one line of the trailers into its name and value.
 * @throws MalformedAnswer
 */
export function parseTrailer(line: string): string[] {
  if (forbidden.test(line)) throw new MalformedAnswer('a control character in a trailer');
  const field = parseFields(line, 0);
  if (isFramingField(field[0] ?? '')) throw new MalformedAnswer('a framing field in a trailer');
  return field;
}

function isFramingField(name: string): boolean {
  return /^(?:content-length|transfer-encoding|connection)$/i.test(name);
}

/** The fields from `start` on as name, value, name, value …. */
function parseFields(text: string, start: number): string[] {
  const fields: string[] = [];
  for (let at = start; at < text.length;) {
    const lineEnd = text.indexOf('\r\n', at);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const colon = text.indexOf(':', at);
    if (colon < 0 || colon >= end) throw new MalformedAnswer('a header without a colon');
    const name = text.slice(at, colon);
    if (!token.test(name)) throw new MalformedAnswer('an invalid header name');
    fields.push(name, trimBlanks(text, colon + 1, end));
    at = end + 2;
  }
  return fields;
}

/** Fills the head's fields from its raw headers. @returns the transfer coding in lower case; undefined without one */
function readFraming(head: AnswerHead): string | undefined {
  let coding: string | undefined;
  for (let index = 0; index < head.rawHeaders.length; index += 2) {
    const value = head.rawHeaders[index + 1] ?? '';
    switch ((head.rawHeaders[index] ?? '').toLowerCase()) {
      case 'content-length':
        if (head.length !== undefined || !digits.test(value)) throw new MalformedAnswer('an unclear length');
        head.length = Number(value);
        break;
      case 'transfer-encoding':
        if (coding !== undefined) throw new MalformedAnswer('two transfer codings');
        coding = value.toLowerCase();
        break;
      case 'connection':
        head.connection = head.connection === undefined ? value : `${head.connection}, ${value}`;
        break;
      case 'keep-alive': {
        const seconds = idleTime.exec(value)?.[1];
        if (seconds !== undefined) head.idleSeconds = Number(seconds);
        break;
      }
      default:
    }
  }
  return coding;
}

/** The text without spaces and tabs at its ends. `trim` would also remove U+00A0, which is half a UTF-8 character here. */
function trimBlanks(text: string, from: number, to: number): string {
  let [begin, end] = [from, to];
  while (begin < end && isBlank(text.charCodeAt(begin))) begin++;
  while (end > begin && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(begin, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}
