import { once } from 'node:events';
import type { Http2Session } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { Entrance } from './entrance.ts';
import type { Handler } from './exchange.ts';
import { createHttp1Server } from './http1.ts';
import { createHttp2Server, preface } from './http2.ts';

export interface IngressServerOptions {
  entrance: Entrance;
  /** Rejects only when the client has gone. */
  handler: Handler;
  clock: Clock;
  /** 0 lets the system choose; `start` tells which. */
  port: number;
  host: string;
  /** How long requests under way may still take at the end. */
  drainMs: number;
}

export interface IngressServer {
  start(): Promise<number>;
  /** Takes no more, lets what is under way end, and cuts what is left then. */
  stop(): Promise<void>;
}

/** One port for HTTP/1.1 and for HTTP/2 without TLS: a connection's first bytes tell which. */
export function createIngressServer(options: IngressServerOptions): IngressServer {
  const { entrance, handler, clock, port, host, drainMs } = options;
  const silent = new Set<Duplex>();
  const tunnels = new Set<Duplex>();
  const sessions = new Set<Http2Session>();
  const http1 = createHttp1Server(entrance, handler, tunnels);
  const http2 = createHttp2Server(entrance, handler);
  http2.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session)).on('error', () => session.destroy());
  });
  const accept = http1.listeners('connection');
  http1.removeAllListeners('connection');
  http1.on('connection', (socket) => {
    const fail = () => socket.destroy();
    const forget = () => silent.delete(socket);
    const begin = () => {
      const first = socket.read() as Buffer | null;
      if (first === null) return;
      socket.off('readable', begin).off('error', fail).off('close', forget);
      forget();
      socket.unshift(first);
      if (first.subarray(0, preface.length).equals(preface)) http2.emit('connection', socket);
      else for (const listener of accept) listener.call(http1, socket);
    };
    silent.add(socket);
    socket.on('error', fail).on('close', forget).on('readable', begin);
  });

  return {
    async start() {
      http1.listen(port, host);
      await once(http1, 'listening');
      const address = http1.address();
      return typeof address === 'object' && address ? address.port : port;
    },
    async stop() {
      if (!http1.listening) return;
      const closed = once(http1, 'close');
      http1.close();
      for (const socket of silent) socket.destroy();
      for (const session of sessions) session.close();
      const limit = new AbortController();
      await Promise.race([closed, clock.sleep(drainMs, limit.signal).catch(() => undefined)]);
      limit.abort();
      http1.closeAllConnections();
      for (const each of [...tunnels, ...sessions]) each.destroy();
      await closed;
    },
  };
}
