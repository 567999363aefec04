import { createAnswerReader, type AnswerHead } from './answer-reader.ts';
import type { Endpoint } from './endpoints.ts';
import { connectToPod, isConnectError } from './pod-socket.ts';

/** Below the 5 s after which a Node server closes an idle connection, so that we close first. */
const idleMaxMs = 4_000;
/** How much sooner than the pod says we close, for what is under way. */
const idleMarginMs = 1_000;
/**
 * Every connection reads into it: what was read is passed on, or copied, before anything else is read.
 */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Why no answer began. `refused`: no connection, nothing was sent. `stale`: a kept connection had been closed by the pod
 * when the request was written to it. `broken`: the pod broke off, or sent nonsense. `late`: nothing came or went for too long.
 */
export type Failure = 'refused' | 'stale' | 'broken' | 'late';

/** One request and its answer, as the connection that carries them sees them. */
export interface PodExchange {
  method: string | undefined;
  /** The whole head of the request, to be sent in Latin-1. */
  head: string;
  /** Whether `write` and `finish` are to follow. */
  hasBody: boolean;
  /** How long nothing may come or go before the answer begins. */
  timeoutMs: number;
  /** The answer begins. What it throws makes the exchange a broken one. */
  begun(head: AnswerHead): void;
  /**
   * @param bytes are overwritten once this returns; `last`: the answer ends with them
   * @returns whether more may come before `resume`
   */
  received(bytes: Buffer, last: boolean): boolean;
  /** The answer is whole. */
  answered(): void;
  /** More of the request's body may be written. */
  drained(): void;
  /** The connection is gone before all was sent and received; with the reason where no answer began. */
  lost(failure: Failure | undefined): void;
}

/** A connection to a pod, for one exchange after the other. */
export interface PodConnection {
  carry(exchange: PodExchange): void;
  /** Calls back as soon as the connection stands; never when it does not come about. */
  whenOpen(ready: () => void): void;
  /** @returns whether more may be written before `drained` */
  write(bytes: Buffer | string): boolean;
  /** Writes pieces as one. */
  writeAll(pieces: readonly (Buffer | string)[]): boolean;
  /** The request's body is whole. */
  finish(): void;
  resume(): void;
  /** Ends the connection, if it still carries this exchange; `lost` is not called. */
  abort(exchange: PodExchange): void;
  destroy(): void;
  /** Whether it can carry an exchange: it stands, and has not rested for so long that the pod may be closing it. */
  usable(): boolean;
}

/** What the owner of a connection hears of it. */
export interface PodConnectionOwner {
  /** The exchange is over and the connection can carry another one. */
  idle(connection: PodConnection): void;
  closed(connection: PodConnection): void;
}

/** Connects at once. Its owner has to end one that has rested until it is no longer usable, before the pod does. */
export function openPodConnection({ host, port }: Endpoint, owner: PodConnectionOwner): PodConnection {
  const reader = createAnswerReader();
  let exchange: PodExchange | undefined;
  let reused = false;
  let heard = false;
  let answering = false;
  let answered = false;
  let sent = false;
  let reusable = false;
  let paused = false;
  let idleMs = idleMaxMs;
  let restsUntil = Infinity;
  let timeoutMs = 0;
  let refused = false;

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
    end(kept: boolean) {
      answered = true;
      reusable = kept;
      paused = false;
      exchange?.answered();
      release();
    },
  };

  const read = (length: number): boolean => {
    heard = true;
    try {
      // Bytes that nobody asked for: the next answer would not be the one to the next request.
      if (reader.read(readBuffer.subarray(0, length)) < length) lose('broken');
    } catch {
      lose('broken');
    }
    return !paused;
  };

  const ended = () => {
    if (exchange && !answered) lose(refused ? 'refused' : reused && !heard ? 'stale' : 'broken');
  };

  /** Kept from one exchange to the next: a timer is only set anew where its time is another one. */
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
    // Only here: a connection that is reset cuts off an answer that has no other end.
    if (answering && !answered) reader.close();
    ended();
  });
  socket.once('close', () => {
    ended();
    // The answer came whole, and the rest of the request has nowhere to go.
    if (exchange) lose('broken');
    owner.closed(connection);
  });

  const connection: PodConnection = {
    carry(next) {
      exchange = next;
      heard = answering = answered = paused = false;
      sent = !next.hasBody;
      reader.expect(next.method, events);
      restsUntil = Infinity;
      if (!socket.connecting) limit(next.timeoutMs);
      socket.write(next.head, 'latin1');
    },
    whenOpen(ready) {
      if (socket.connecting) socket.once('connect', ready);
      else ready();
    },
    write: (bytes) => socket.write(bytes),
    writeAll(pieces) {
      socket.cork();
      let more = true;
      for (const piece of pieces) more = socket.write(piece);
      socket.uncork();
      return more;
    },
    finish() {
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
