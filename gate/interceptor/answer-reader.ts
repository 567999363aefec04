import { maxHeaderSize } from 'node:http';

/** The head of a pod's answer. */
export interface AnswerHead {
  status: number;
  statusMessage: string;
  /** Name, value, name, value …, as they came, in Latin-1. */
  rawHeaders: string[];
  /** The value of Connection; several are joined with a comma. */
  connection: string | undefined;
  /** The length of the body where the head tells it. */
  length: number | undefined;
  /** After how long a rest the pod ends the connection, where it says so. */
  idleSeconds: number | undefined;
}

/** What a reader tells of an answer, in this order. What is thrown here ends the reading. */
export interface AnswerEvents {
  head(head: AnswerHead): void;
  /** @param bytes are overwritten once this returns; `last`: the body ends with them */
  body(bytes: Buffer, last: boolean): void;
  /** @param reusable whether the connection can carry another request */
  end(reusable: boolean): void;
}

/** The bytes are no answer, or one of which it is not certain where it ends. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer';
}

/** Reads one answer after the other of a connection, in pieces as they come. */
export interface AnswerReader {
  /** Before each answer. @param method of the request: the answer to a HEAD has no body */
  expect(method: string | undefined, events: AnswerEvents): void;
  /**
   * @returns how many bytes belong to the answer: fewer than given once it has ended
   * @throws MalformedAnswer, or what the events throw
   */
  read(bytes: Buffer): number;
  /**
   * The connection has ended: so has an answer that goes on until then.
   * @returns whether the answer was whole
   */
  close(): boolean;
}

const headEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');
const nothing = Buffer.alloc(0);
const maxChunkLine = 1_024;
/** HTTP-version, status and reason (RFC 9112 §4); node:http writes no status below 100. */
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: (.*))?$/;
const digits = /^\d{1,15}$/;
const idleTime = /(?:^|[\s,])timeout=(\d{1,9})/i;
const chunkSize = /^([\da-f]{1,12})[ \t]*(?:;.*)?$/i;

type State = 'head' | 'length' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'over';

/**
 * Strict where node:http is: lines end with CR and LF, the framing is unambiguous (RFC 9112 §6.3), heads are no longer than
 * its own limit. Folded lines and transfer codings other than chunked are refused; interim answers and trailers are dropped.
 */
export function createAnswerReader(): AnswerReader {
  let state: State = 'over';
  let method: string | undefined;
  let events: AnswerEvents | undefined;
  /** The beginning of a head or a line that has not come whole. */
  let pending: Buffer = nothing;
  let left = 0;
  let keepAlive = false;

  const finish = () => {
    state = 'over';
    events?.end(keepAlive);
  };

  /** The text up to the mark, once it is there; `used` counts the bytes of this piece that it took. */
  const take = (bytes: Buffer, mark: Buffer, limit: number): { text: string | undefined; used: number } => {
    const before = pending.length;
    const all = before === 0 ? bytes : Buffer.concat([pending, bytes]);
    const at = all.indexOf(mark);
    if ((at < 0 ? all.length : at) > limit) throw new MalformedAnswer('too long a head or line');
    if (at < 0) {
      pending = before === 0 ? Buffer.from(bytes) : all;
      return { text: undefined, used: bytes.length };
    }
    pending = nothing;
    return { text: all.toString('latin1', 0, at), used: at + mark.length - before };
  };

  const begin = (text: string) => {
    const { head, minor, chunked, keepAlive: kept } = parseHead(text);
    const { status, length } = head;
    if (status === 101) throw new MalformedAnswer('a switch that nobody asked for');
    if (status < 200) return;
    keepAlive = minor === '1' && kept;
    const bare = method === 'HEAD' || status === 204 || status === 304;
    if (!bare && !chunked && length === undefined) keepAlive = false;
    events?.head(head);
    if (bare || (!chunked && length === 0)) finish();
    else if (chunked) state = 'chunk-size';
    else if (length === undefined) state = 'until-close';
    else {
      state = 'length';
      left = length;
    }
  };

  const beginChunk = (line: string) => {
    const size = chunkSize.exec(line)?.[1];
    if (size === undefined) throw new MalformedAnswer('a chunk without a size');
    left = Number.parseInt(size, 16);
    state = left === 0 ? 'trailers' : 'chunk';
  };

  /** One step; at least one byte is there. None is taken once the answer is over. */
  const step = (bytes: Buffer): number => {
    switch (state) {
      case 'head': {
        const { text, used } = take(bytes, headEnd, maxHeaderSize);
        if (text !== undefined) begin(text);
        return used;
      }
      case 'until-close':
        events?.body(bytes, false);
        return bytes.length;
      case 'length':
      case 'chunk': {
        const part = bytes.length > left ? bytes.subarray(0, left) : bytes;
        left -= part.length;
        const last = left === 0 && state === 'length';
        if (left === 0) state = last ? 'over' : 'chunk-end';
        events?.body(part, last);
        if (last) finish();
        return part.length;
      }
      case 'chunk-size':
      case 'chunk-end':
      case 'trailers': {
        const { text, used } = take(bytes, lineEnd, state === 'trailers' ? maxHeaderSize : maxChunkLine);
        if (text === undefined) return used;
        if (state === 'chunk-size') beginChunk(text);
        else if (state === 'trailers') {
          if (text === '') finish();
        } else if (text === '') state = 'chunk-size';
        else throw new MalformedAnswer('a chunk longer than its size');
        return used;
      }
      case 'over':
      default:
        return 0;
    }
  };

  return {
    expect(requestMethod, answerEvents) {
      state = 'head';
      method = requestMethod;
      events = answerEvents;
      pending = nothing;
    },
    read(bytes) {
      let used = 0;
      for (let taken = -1; used < bytes.length && taken !== 0; used += taken) {
        taken = step(used === 0 ? bytes : bytes.subarray(used));
      }
      return used;
    },
    close() {
      if (state === 'until-close') finish();
      return state === 'over';
    },
  };
}

interface ParsedHead {
  head: AnswerHead;
  minor: string | undefined;
  chunked: boolean;
  keepAlive: boolean;
}

function parseHead(text: string): ParsedHead {
  const firstEnd = text.indexOf('\r\n');
  const line = statusLine.exec(firstEnd < 0 ? text : text.slice(0, firstEnd));
  if (!line) throw new MalformedAnswer('no status line');
  const head: AnswerHead = {
    ...{ status: Number(line[2]), statusMessage: line[3] ?? '', rawHeaders: [] },
    ...{ connection: undefined, length: undefined, idleSeconds: undefined },
  };
  let coding: string | undefined;
  for (let at = firstEnd < 0 ? text.length : firstEnd + 2; at < text.length;) {
    const found = text.indexOf('\r\n', at);
    const end = found < 0 ? text.length : found;
    const colon = text.indexOf(':', at);
    if (colon < 0 || colon >= end) throw new MalformedAnswer('a header without a colon');
    const name = text.slice(at, colon);
    const value = trimmed(text, colon + 1, end);
    head.rawHeaders.push(name, value);
    at = end + 2;
    // Only these lengths are looked at twice: content-length, transfer-encoding, connection and keep-alive.
    if (name.length !== 14 && name.length !== 17 && name.length !== 10) continue;
    const lower = name.toLowerCase();
    if (lower === 'content-length') {
      if (head.length !== undefined || !digits.test(value)) throw new MalformedAnswer('an unclear length');
      head.length = Number(value);
    } else if (lower === 'transfer-encoding') {
      if (coding !== undefined) throw new MalformedAnswer('two transfer codings');
      coding = value.toLowerCase();
    } else if (lower === 'connection') {
      head.connection = head.connection === undefined ? value : `${head.connection}, ${value}`;
    } else if (lower === 'keep-alive') {
      const seconds = idleTime.exec(value)?.[1];
      if (seconds !== undefined) head.idleSeconds = Number(seconds);
    }
  }
  if (coding !== undefined && (coding !== 'chunked' || head.length !== undefined || line[1] === '0')) {
    throw new MalformedAnswer('an unclear framing');
  }
  const keepAlive = head.connection === undefined || !/(?:^|[\s,])close(?:$|[\s,])/i.test(head.connection);
  return { head, minor: line[1], chunked: coding !== undefined, keepAlive };
}

/** Without the spaces and tabs around it; `trim` would take U+00A0 for one, which is half a character in UTF-8. */
function trimmed(text: string, from: number, to: number): string {
  let [begin, end] = [from, to];
  while (begin < end && isBlank(text.charCodeAt(begin))) begin++;
  while (end > begin && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(begin, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}
