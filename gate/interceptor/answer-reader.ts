import {
  MalformedAnswer,
  maxAnswerHead,
  OversizedHead,
  parseHead,
  parseTrailer,
  type AnswerHead,
} from './answer-head.ts';

/** Receives an answer: `head`, then `body` any number of times, then `end`. An error that it throws stops the reader. */
interface AnswerEvents {
  head(head: AnswerHead): void;
  /** @param bytes valid only during the call; `last`: they complete the body */
  body(bytes: Buffer, last: boolean): void;
  /**
   * @param reusable whether the connection can carry another request
   * @param trailers name, value, name, value …, as received, in Latin-1
   */
  end(reusable: boolean, trailers: readonly string[]): void;
}

/** Reads the answers of one connection, in pieces of any size. */
export interface AnswerReader {
  /** Call before each answer. @param method of the request: an answer to HEAD has no body */
  expect(method: string | undefined, events: AnswerEvents): void;
  /**
   * @returns how many of the bytes belong to the answer: fewer than `bytes.length` only when the answer has ended
   * @throws MalformedAnswer, OversizedHead, or what the events throw
   */
  read(bytes: Buffer): number;
  /**
   * Call when the connection ends. This completes an answer without a length.
   * @returns whether the answer is complete
   */
  close(): boolean;
}

const headEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');
const nothing = Buffer.alloc(0);
const maxChunkLine = 1_024;
/** The size and its extensions (RFC 9112 §7.1). */
const chunkLine =
  /^([\da-f]{1,12})(?:;[\w!#$%&'*+\-.^`|~]+(?:=(?:[\w!#$%&'*+\-.^`|~]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)*$/i;

type State = 'head' | 'length' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'done';

/**
 * Refuses every answer that node:http's client refuses, and more: tests/gate/interceptor/answer-reader-fuzz.test.ts
 * compares the two and lists where this reader is stricter. Interim answers are dropped.
 */
export function createAnswerReader(): AnswerReader {
  let state: State = 'done';
  let method: string | undefined;
  let events: AnswerEvents | undefined;
  /** The start of a head or line that is still incomplete. */
  let pending: Buffer = nothing;
  /** Bytes left of the body, of a chunk, or of the space for trailers. */
  let bytesLeft = 0;
  let keepAlive = false;
  let trailers: string[] = [];

  const finish = () => {
    state = 'done';
    events?.end(keepAlive, trailers);
  };

  /** Reads up to `mark`. `text` is undefined while the mark is missing; `used` counts bytes of this piece. */
  const readUntil = (bytes: Buffer, mark: Buffer, limit: number): { text: string | undefined; used: number } => {
    const before = pending.length;
    const combined = before === 0 ? bytes : Buffer.concat([pending, bytes]);
    const at = combined.indexOf(mark);
    if ((at < 0 ? combined.length : at) > limit) {
      throw state === 'head' ? new OversizedHead('too long a head') : new MalformedAnswer('too long a line');
    }
    if (at < 0) {
      pending = before === 0 ? Buffer.from(bytes) : combined;
      return { text: undefined, used: bytes.length };
    }
    pending = nothing;
    return { text: combined.toString('latin1', 0, at), used: at + mark.length - before };
  };

  const beginAnswer = (text: string) => {
    const { head, keepAlive: reusable } = parseHead(text);
    const { status, length, chunked } = head;
    if (status === 101) throw new MalformedAnswer('a protocol switch without a request for it');
    if (status < 200) {
      if (!reusable) throw new MalformedAnswer('an interim answer that closes the connection');
      return;
    }
    const bodyless = method === 'HEAD' || status === 204 || status === 304;
    keepAlive = reusable && (bodyless || chunked || length !== undefined);
    events?.head(head);
    if (bodyless || (!chunked && length === 0)) finish();
    else if (chunked) state = 'chunk-size';
    else if (length === undefined) state = 'until-close';
    else {
      state = 'length';
      bytesLeft = length;
    }
  };

  const beginChunk = (line: string) => {
    const size = chunkLine.exec(line)?.[1];
    if (size === undefined) throw new MalformedAnswer('an invalid chunk size');
    const length = Number.parseInt(size, 16);
    state = length === 0 ? 'trailers' : 'chunk';
    bytesLeft = length === 0 ? maxAnswerHead : length;
  };

  const endChunk = (line: string) => {
    if (line !== '') throw new MalformedAnswer('a chunk longer than its size');
    state = 'chunk-size';
  };

  const takeTrailer = (line: string) => {
    if (line === '') finish();
    else trailers.push(...parseTrailer(line));
    bytesLeft -= line.length;
  };

  const readLine = (bytes: Buffer, limit: number, take: (line: string) => void): number => {
    const { text, used } = readUntil(bytes, lineEnd, limit);
    if (text !== undefined) take(text);
    return used;
  };

  /** The bytes of this piece that belong to the body or chunk. */
  const takePart = (bytes: Buffer): Buffer => {
    const part = bytes.length > bytesLeft ? bytes.subarray(0, bytesLeft) : bytes;
    bytesLeft -= part.length;
    return part;
  };

  const readLength = (bytes: Buffer): number => {
    const part = takePart(bytes);
    const last = bytesLeft === 0;
    if (last) state = 'done';
    events?.body(part, last);
    if (last) finish();
    return part.length;
  };

  const readChunk = (bytes: Buffer): number => {
    const part = takePart(bytes);
    if (bytesLeft === 0) state = 'chunk-end';
    events?.body(part, false);
    return part.length;
  };

  /** Reads one element from a piece that is not empty. @returns the bytes that it took: none once the answer has ended */
  const step = (bytes: Buffer): number => {
    switch (state) {
      case 'head': {
        const { text, used } = readUntil(bytes, headEnd, maxAnswerHead);
        if (text !== undefined) beginAnswer(text);
        return used;
      }
      case 'until-close':
        events?.body(bytes, false);
        return bytes.length;
      case 'length':
        return readLength(bytes);
      case 'chunk':
        return readChunk(bytes);
      case 'chunk-size':
        return readLine(bytes, maxChunkLine, beginChunk);
      case 'chunk-end':
        return readLine(bytes, maxChunkLine, endChunk);
      case 'trailers':
        return readLine(bytes, bytesLeft, takeTrailer);
      case 'done':
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
      trailers = [];
    },
    read(bytes) {
      let used = 0;
      for (let count = -1; used < bytes.length && count !== 0; used += count) {
        count = step(used === 0 ? bytes : bytes.subarray(used));
      }
      return used;
    },
    close() {
      if (state === 'until-close') finish();
      return state === 'done';
    },
  };
}
