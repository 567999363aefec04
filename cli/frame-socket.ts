import type { OnReadOpts, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createReadBuffers } from '../runtime/domain/read-buffers.ts';

/** Bytes of a read. */
const readBytes = 256 * 1024;
/** Of the response to the handshake, which is searched again with each part of it that arrives. */
const headMaxBytes = 16 * 1024;
/** Longest header of a frame of a server, which has no mask. */
const headerMax = 10;
const headEnd = Buffer.from('\r\n\r\n');
const accepted = 'HTTP/1.1 101 ';
const opcodes = { continuation: 0, binary: 2, firstControl: 8 } as const;

/** Takes the binary content of one read, and calls `release` when it does not need the memory of the pieces any more. */
export type TakeContent = (pieces: readonly Buffer[], release: () => void) => void;

const nothing = () => undefined;

/**
 * The connection of a WebSocket whose binary messages are taken piece by piece, from the memory that they were read into.
 * `ws` gets everything else: the response to the handshake, text messages, pings, the close, and frames that break the
 * protocol. It would wait for the whole message, copy one that arrives in two reads, and read each time into new memory.
 */
export class FrameSocket extends Duplex {
  readonly #connection: Socket;
  #take: TakeContent | undefined;
  /** What has arrived of the response to the handshake. */
  #head: Buffer | undefined = Buffer.alloc(0);
  /** Set after a response that opened no WebSocket. */
  #isRefused = false;
  /** Frames that arrived together with the response. */
  #early: Buffer = Buffer.alloc(0);
  readonly #header = Buffer.alloc(headerMax);
  #headerLength = 0;
  /** Bytes of the current frame that have not arrived. */
  #rest = 0;
  #isContent = false;
  /** Whether a continuation belongs to a binary message. */
  #continuesContent = false;
  #pieces: Buffer[] = [];
  #others: Buffer[] = [];

  /** @param connect opens the connection with these options */
  constructor(connect: (onread: OnReadOpts) => Socket) {
    super();
    const buffers = createReadBuffers(readBytes);
    this.#connection = connect({
      buffer: () => buffers.next(),
      callback: (length, buffer) => {
        this.#receive(Buffer.from(buffer.buffer, buffer.byteOffset, length), () => buffers.lend());
        return true;
      },
    });
    this.#connection
      .on('timeout', () => this.emit('timeout'))
      .once('end', () => this.push(null))
      .on('error', (error) => this.destroy(error))
      .resume();
  }

  /** Starts to take binary messages. Until then, nothing is read after the response to the handshake. */
  start(take: TakeContent): void {
    this.#take = take;
    if (this.#early.length > 0) this.#receiveFrames(this.#early, () => nothing);
    this.#connection.resume();
  }

  /** Stops reading, also of text messages and pings. */
  pauseContent(): void {
    this.#connection.pause();
  }

  resumeContent(): void {
    this.#connection.resume();
  }

  setTimeout(ms: number): this {
    this.#connection.setTimeout(ms);
    return this;
  }

  setNoDelay(): this {
    this.#connection.setNoDelay();
    return this;
  }

  /** @param lend takes the memory of `data` out of use, and returns what gives it back */
  #receive(data: Buffer, lend: () => () => void): void {
    if (!this.#head) {
      if (this.#isRefused) this.push(Buffer.from(data));
      else this.#receiveFrames(data, lend);
      return;
    }
    this.#head = Buffer.concat([this.#head, data]);
    const end = this.#head.indexOf(headEnd);
    if (end < 0 && this.#head.length < headMaxBytes) return;
    this.#isRefused = end < 0 || this.#head.toString('latin1', 0, accepted.length) !== accepted;
    const length = this.#isRefused ? this.#head.length : end + headEnd.length;
    const head = this.#head.subarray(0, length);
    this.#early = this.#head.subarray(length);
    this.#head = undefined;
    if (!this.#isRefused) this.#connection.pause();
    this.push(head);
  }

  #receiveFrames(data: Buffer, lend: () => () => void): void {
    let from = 0;
    while (from < data.length) {
      if (this.#rest === 0) from = this.#readHeader(data, from);
      const piece = data.subarray(from, from + this.#rest);
      from += piece.length;
      this.#rest -= piece.length;
      if (piece.length === 0) continue;
      if (this.#isContent) this.#pieces.push(piece);
      else this.#others.push(Buffer.from(piece));
    }
    const [pieces, others] = [this.#pieces, this.#others];
    this.#pieces = [];
    this.#others = [];
    // A receiver that waits keeps what it gets. Little content must not keep the memory of a whole read.
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const isSmall = length < readBytes / 32;
    if (isSmall && length > 0)
      this.#take?.(
        pieces.map((piece) => Buffer.from(piece)),
        nothing,
      );
    else if (length > 0) this.#take?.(pieces, lend());
    // After the content, because a text message that ends a direction comes after it.
    for (const other of others) this.push(other);
  }

  /** Reads a header or a part of one. @returns the position after it */
  #readHeader(data: Buffer, start: number): number {
    for (let from = start; from < data.length; from++) {
      this.#header[this.#headerLength++] = data[from] ?? 0;
      const [first = 0, second = 0] = this.#header;
      const short = second & 0x7f;
      const length = short === 127 ? headerMax : short === 126 ? 4 : 2;
      if (this.#headerLength < 2 || this.#headerLength < length) continue;
      this.#headerLength = 0;
      if (short === 127) this.#rest = Number(this.#header.readBigUInt64BE(2));
      else this.#rest = short === 126 ? this.#header.readUInt16BE(2) : short;
      // Reserved bits or a mask break the protocol: `ws` gets all that follows, and closes the connection.
      if ((first & 0x70) !== 0 || (second & 0x80) !== 0) this.#rest = Infinity;
      this.#isContent = this.#rest !== Infinity && this.#isContentFrame(first & 0x0f);
      if (!this.#isContent) this.#others.push(Buffer.from(this.#header.subarray(0, length)));
      return from + 1;
    }
    return data.length;
  }

  #isContentFrame(opcode: number): boolean {
    if (opcode >= opcodes.firstControl) return false;
    if (opcode !== opcodes.continuation) this.#continuesContent = opcode === opcodes.binary;
    return this.#continuesContent;
  }

  override _read(): void {
    // The connection is read without being asked: what is pushed is small.
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#connection.write(chunk, encoding, callback);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    this.#connection.cork();
    const last = chunks.length - 1;
    for (const [index, { chunk, encoding }] of chunks.entries()) {
      this.#connection.write(chunk, encoding, index === last ? callback : undefined);
    }
    this.#connection.uncork();
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#connection.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#connection.destroy();
    callback(error);
  }
}
