import { OversizedHead, type AnswerHead } from './answer-head.ts';
import { createAnswerReader } from './answer-reader.ts';
import type { Endpoint } from './endpoints.ts';
import { connectToPod, isConnectError } from './pod-socket.ts';

/** Below the 5 s after which a Node server closes an idle connection, so that this side closes first. */
const idleMaxMs = 4_000;
/** How much earlier than the pod's announced time-out an idle connection is closed, to allow for delays. */
const idleMarginMs = 1_000;
/**
 * A head and a body up to this size are sent as one string: node:http and node:net write strings up to 16 KiB without a
 * copy on the heap, in one system call.
 */
const smallBody = 15 * 1024;
/** All connections read into this buffer; its content is forwarded or copied before the next read. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Why no response began. `refused`: no connection, nothing was sent. `stale`: the pod had closed the kept connection
 * when the request was written. `broken`: the pod closed the connection or sent an invalid response. `late`: the
 * time-out without data. `oversized`: the head of the response is too large.
 */
export type Failure = 'refused' | 'stale' | 'broken' | 'late' | 'oversized';

/** One request and its response. */
export interface PodExchange {
  method: string | undefined;
  /** The complete head of the request, sent in Latin-1. */
  head: string;
  /** Whether `write` and `finish` follow. */
  hasBody: boolean;
  /** Time-out without data in either direction before the response begins. */
  timeoutMs: number;
  /** Called when the response begins. A throw counts as `broken`. */
  begun(head: AnswerHead): void;
  /**
   * Called with parts of the body.
   * @param bytes overwritten after the call
   * @param last whether they complete the response
   * @returns false to pause until `resume`
   */
  received(bytes: Buffer, last: boolean): boolean;
  /** Called when the response is complete. @param trailers name, value, name, value …, in Latin-1 */
  answered(trailers: readonly string[]): void;
  /** Called when more of the request's body can be written. */
  drained(): void;
  /** Called when the connection ends before the exchange is complete, with the reason if no response began. */
  lost(failure: Failure | undefined): void;
}

/** A connection to a pod, which carries one exchange after the other. */
export interface PodConnection {
  carry(exchange: PodExchange): void;
  /** Calls back when the connection is open; never when it fails. */
  whenOpen(ready: () => void): void;
  /** @returns false to wait for `drained` */
  write(bytes: Buffer | string): boolean;
  /** Writes the pieces in one system call. */
  writeAll(pieces: readonly (Buffer | string)[]): boolean;
  /** Ends the request's body. */
  finish(): void;
  resume(): void;
  /** Closes the connection if it still carries this exchange. Does not call `lost`. */
  abort(exchange: PodExchange): void;
  destroy(): void;
  /**
   * Whether it can carry an exchange: it is open, and has not been idle for so long that the pod may be closing it.
   */
  usable(): boolean;
}

/** The owner of a connection. */
export interface PodConnectionOwner {
  /** Called when the exchange is complete and the connection can carry another one. */
  idle(connection: PodConnection): void;
  closed(connection: PodConnection): void;
}

/**
 * Connects immediately. The owner has to close an idle connection once it is no longer usable, before the pod does.
 */
export function openPodConnection({ host, port }: Endpoint, owner: PodConnectionOwner): PodConnection {
  const reader = createAnswerReader();
  let exchange: PodExchange | undefined;
  let reused = false;
  let hasReceived = false;
  let answering = false;
  let answered = false;
  let sent = false;
  let reusable = false;
  let paused = false;
  let idleMs = idleMaxMs;
  let restsUntil = Infinity;
  let timeoutMs = 0;
  let refused = false;
  /** The head of a request whose body follows, until the first part of the body or the end of this event. */
  let head: string | undefined;

  const sendHead = () => {
    if (head === undefined) return;
    const text = head;
    head = undefined;
    socket.write(text, 'latin1');
  };

  const lose = (failure: Failure) => {
    const lost = exchange;
    exchange = undefined;
    socket.destroy();
    lost?.lost(answering ? undefined : failure);
  };

  const release = () => {
    if (!answered || !sent) return;
    exchange = undefined;
    reused = true;
    if (!reusable || idleMs <= 0 || socket.destroyed) {
      socket.destroy();
      return;
    }
    restsUntil = performance.now() + idleMs;
    owner.idle(connection);
  };

  const events = {
    head(head: AnswerHead) {
      exchange?.begun(head);
      answering = true;
      idleMs = Math.min(idleMaxMs, (head.idleSeconds ?? Infinity) * 1_000 - idleMarginMs);
    },
    body(bytes: Buffer, last: boolean) {
      if (exchange?.received(bytes, last) === false) paused = true;
    },
    end(kept: boolean, trailers: readonly string[]) {
      answered = true;
      reusable = kept;
      paused = false;
      exchange?.answered(trailers);
      release();
    },
  };

  const read = (length: number): boolean => {
    hasReceived = true;
    try {
      // Unexpected bytes would be taken for the next response.
      if (reader.read(readBuffer.subarray(0, length)) < length) lose('broken');
    } catch (error) {
      lose(error instanceof OversizedHead ? 'oversized' : 'broken');
    }
    return !paused;
  };

  const ended = () => {
    if (exchange && !answered) lose(refused ? 'refused' : reused && !hasReceived ? 'stale' : 'broken');
  };

  /** The timer is kept between exchanges and reset only for a different time-out. */
  const limit = (ms: number) => {
    if (ms === timeoutMs) return;
    timeoutMs = ms;
    socket.setTimeout(ms);
  };

  const socket = connectToPod({ host, port, noDelay: true, onread: { buffer: readBuffer, callback: read } });
  socket.once('connect', () => {
    if (exchange) limit(exchange.timeoutMs);
  });
  socket.on('timeout', () => {
    if (!exchange) socket.destroy();
    else if (!answering) lose('late');
  });
  socket.on('drain', () => exchange?.drained());
  socket.on('error', (error) => (refused = isConnectError(error)));
  socket.once('end', () => {
    // Not on a reset, which truncates a response that only the end of the connection delimits.
    if (answering && !answered) reader.close();
    ended();
  });
  socket.once('close', () => {
    ended();
    // The response is complete, but the rest of the request can no longer be sent.
    if (exchange) lose('broken');
    owner.closed(connection);
  });

  const connection: PodConnection = {
    carry(next) {
      exchange = next;
      hasReceived = answering = answered = paused = false;
      sent = !next.hasBody;
      reader.expect(next.method, events);
      restsUntil = Infinity;
      if (!socket.connecting) limit(next.timeoutMs);
      head = next.head;
      // A small body usually came in one packet with the head, and leaves with it.
      if (next.hasBody && !socket.connecting) setImmediate(sendHead);
      else sendHead();
    },
    whenOpen(ready) {
      if (socket.connecting) socket.once('connect', ready);
      else ready();
    },
    write(bytes) {
      if (head !== undefined && bytes.length <= smallBody) {
        const text = head + (typeof bytes === 'string' ? bytes : bytes.toString('latin1'));
        head = undefined;
        return socket.write(text, 'latin1');
      }
      sendHead();
      return socket.write(bytes);
    },
    writeAll(pieces) {
      socket.cork();
      sendHead();
      let more = true;
      for (const piece of pieces) more = socket.write(piece);
      socket.uncork();
      return more;
    },
    finish() {
      sendHead();
      sent = true;
      release();
    },
    resume() {
      paused = false;
      socket.resume();
    },
    abort(carried) {
      if (exchange !== carried) return;
      exchange = undefined;
      socket.destroy();
    },
    destroy: () => void socket.destroy(),
    usable: () => !socket.destroyed && socket.readable && performance.now() < restsUntil,
  };
  return connection;
}
