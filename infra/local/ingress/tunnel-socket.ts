import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createReadBuffers } from '../../../runtime/domain/read-buffers.ts';
import type { ForwardingSocket } from '../../../runtime/http/tunnel.ts';

/** Bytes of a read. */
const readBytes = 256 * 1024;
/** Bytes that may wait for a slow client: a few reads, so that the pod is read while some of them are being sent. */
const waitingMax = 512 * 1024;

/**
 * A connection to a pod that a request may upgrade. Until then it is an ordinary stream. Afterwards, what the pod sends is
 * read into few buffers and written to the client from there: as a stream, each 64 KiB would have memory of their own.
 */
export class TunnelSocket extends Duplex implements ForwardingSocket {
  readonly #connection: Socket;
  #client: Duplex | undefined;
  #hasEnded = false;

  constructor(address: { host: string; port: number }) {
    super();
    const buffers = createReadBuffers(readBytes);
    const callback = (length: number, buffer: Uint8Array) => {
      const data = Buffer.from(buffer.buffer, buffer.byteOffset, length);
      if (this.#client) this.#send(this.#client, data, buffers.lend());
      else if (!this.push(Buffer.from(data))) this.#connection.pause();
      return true;
    };
    this.#connection = connect({ ...address, noDelay: true, onread: { buffer: () => buffers.next(), callback } });
    this.#connection
      .once('connect', () => this.emit('connect'))
      .once('end', () => {
        this.#hasEnded = true;
        if (this.#client) this.#client.end();
        else this.push(null);
      })
      .on('error', (error) => this.destroy(error))
      .resume();
  }

  /** As of `net.Socket`: `node:http` asks for it. */
  get connecting(): boolean {
    return this.#connection.connecting;
  }

  /** As of `net.Socket`: `node:http` closes the connection with it after a response that is no upgrade. */
  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.end(() => this.destroy());
  }

  /** Nothing may read from this stream any more. */
  forwardTo(client: Duplex): void {
    for (let data = this.read() as Buffer | null; data !== null; data = this.read() as Buffer | null)
      client.write(data);
    this.#client = client;
    client.on('drain', () => this.#connection.resume());
    if (this.#hasEnded) client.end();
    else this.#connection.resume();
  }

  #send(client: Duplex, data: Buffer, release: () => void): void {
    if (!client.writable) return;
    client.write(data, release);
    if (client.writableLength > waitingMax) this.#connection.pause();
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#connection.write(chunk, encoding, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#connection.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#connection.destroy();
    callback(error);
  }
}
