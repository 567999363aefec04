import type { Server } from 'node:http';
import type { Clock } from '../domain/clock.ts';

/**
 * How long a client that ended its side of the connection waits for its answer, in ms. Most of such clients are gone:
 * nothing tells them from those that only have no more to send, so that the request is aborted after this time.
 */
export const halfCloseMs = 5_000;

/** Answers clients that end their side of the connection after a request, as `nc -N` does. */
export function answerHalfClosed(server: Server, clock: Clock, ms: number): void {
  // node:http does not document this property. Without it, the server ends the connection as soon as the client does.
  Object.assign(server, { httpAllowHalfOpen: true });
  const upgraded = new WeakSet<object>();
  server.on('upgrade', (_, socket) => upgraded.add(socket));
  server.on('connection', (socket) => {
    socket.once('end', () => {
      if (socket.destroyed || upgraded.has(socket)) return;
      const closed = new AbortController();
      socket.once('close', () => closed.abort());
      clock.sleep(ms, closed.signal).then(
        () => socket.destroy(),
        () => undefined,
      );
    });
  });
}
