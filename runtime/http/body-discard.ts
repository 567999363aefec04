import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

const mebibyte = 1024 * 1024;

export interface BodyDiscardLimits {
  /** Large bodies that are read at once. */
  reading: number;
  /** How long such a body counts at least, in ms: many that end soon cost as much as a few that last. */
  countMs: number;
  /** Time for the rest of a body that is read, in ms. Then the connection is closed. */
  readMs: number;
  /** Bytes of a body that are read at most. */
  bytes: number;
  /** How long the connection of a body that is not read stays open after the response, in ms. */
  lingerMs: number;
  /** Connections that stay open so at once. */
  lingering: number;
}

const defaults: BodyDiscardLimits = {
  reading: 32,
  countMs: 2_000,
  readMs: 5_000,
  bytes: 8 * mebibyte,
  lingerMs: 2_000,
  lingering: 100,
};

/** Smaller bodies are always read to their end: they cost less than another connection. */
const largeBytes = 64 * 1024;

/**
 * What happens to bodies that are refused, so that clients that are still sending them receive the response. A server that
 * closes the connection at once resets it, and a reset can take the response with it (RFC 9112, section 9.6).
 */
export interface BodyDiscards {
  /**
   * Reads and discards the rest of a body, so that the connection stays usable: up to 8 MiB, for up to five seconds. While
   * many large ones are read, it leaves a further one as `leave` does. Call it before the response is sent, which must
   * close the connection if the request is paused afterwards. Does nothing for a body that was discarded or left before.
   */
  discard(request: IncomingMessage): void;
  /**
   * Stops reading a body, which pauses the request. After a response that closes the connection, this side of it is
   * ended, and two seconds later all of it. Of a hundred such connections, the oldest is closed for another one.
   */
  leave(request: IncomingMessage): void;
}

export function createBodyDiscards(limits: Partial<BodyDiscardLimits> = {}): BodyDiscards {
  const { reading, countMs, readMs, bytes, lingerMs, lingering } = { ...defaults, ...limits };
  const seen = new WeakSet<IncomingMessage>();
  let large = 0;
  /** The connections that stay open, the oldest first. */
  const open = new Set<Socket>();

  /** Counts a large body until `end` is called, but at least for `countMs`. */
  const count = () => {
    large += 1;
    let parts = 2;
    const end = () => {
      parts -= 1;
      if (parts === 0) large -= 1;
    };
    setTimeout(end, countMs).unref();
    return end;
  };

  const read = (request: IncomingMessage, onEnd: () => void) => {
    const { socket } = request;
    const timer = setTimeout(() => socket.destroy(), readMs);
    let size = 0;
    const end = () => {
      clearTimeout(timer);
      request.off('data', onData).off('end', end);
      socket.off('close', end);
      onEnd();
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= bytes) return;
      end();
      leave(request);
    };
    request.on('data', onData).once('end', end);
    socket.once('close', end);
  };

  const leave = (request: IncomingMessage) => {
    const { socket } = request;
    seen.add(request);
    // Once the response is sent, node:http reads a body that the handler has not begun to read to its end.
    if (request.readableFlowing === null) request.read(0);
    request.pause();
    if (open.size >= lingering) {
      const [oldest] = open;
      oldest?.destroy();
    }
    open.add(socket);
    // node:http calls it after a response that closes the connection; its own one also closes the client's side.
    socket.destroySoon = () => socket.end();
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => {
      clearTimeout(timer);
      open.delete(socket);
    });
  };

  return {
    leave(request) {
      if (!seen.has(request) && !request.socket.destroyed) leave(request);
    },
    discard(request) {
      const length = lengthOf(request);
      if (length === 0 || request.readableEnded || request.socket.destroyed) {
        request.resume();
        return;
      }
      if (seen.has(request)) return;
      seen.add(request);
      if (length < largeBytes) read(request, () => undefined);
      else if (large < reading) read(request, count());
      else leave(request);
    },
  };
}

/** In bytes; infinite for a chunked body. */
function lengthOf({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
}
