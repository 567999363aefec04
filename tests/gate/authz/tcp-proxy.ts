import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A proxy to a server that a test can hang or cut. */
export interface TcpProxy {
  /** The given URL, through the proxy. */
  url: string;
  /** From now on nothing passes, silently, in open and new connections. */
  hang(): void;
  /** Cuts every connection and accepts new ones. */
  resume(): void;
}

/** Opens a proxy in front of the server of `target`, a URL with host and port; closed when the test ends. */
export async function tcpProxy(t: { teardown(end: () => unknown): void }, target: string): Promise<TcpProxy> {
  const server = new URL(target);
  const sockets = new Set<Socket>();
  let hanging = false;

  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    return socket;
  };
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };

  const listener = createServer((near) => {
    keep(near);
    if (hanging) return;
    const far = keep(connect(Number(server.port), server.hostname));
    near.pipe(far).on('close', () => near.destroy());
    far.pipe(near).on('close', () => far.destroy());
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(async () => {
    listener.close();
    cut();
    await once(listener, 'close');
  });
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(target);
  url.port = String(address.port);
  return {
    url: url.href,
    hang() {
      hanging = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    resume() {
      hanging = false;
      cut();
    },
  };
}
