import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Forwards connections until it is cut; then it accepts data and delivers nothing. */
export interface SwitchedRelay {
  /** Where it listens on 127.0.0.1. */
  port: number;
  cut(): void;
  /** Delivers the data that arrived since the cut, as a repaired network does. */
  restore(): void;
  stop(): Promise<void>;
}

/** Starts a relay to this address. */
export async function switchedRelay(address: { host: string; port: number }): Promise<SwitchedRelay> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let waiting: Socket[] = [];
  const keep = (socket: Socket, other?: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      other?.destroy();
    });
  };
  const join = (client: Socket) => {
    const upstream = connect(address);
    keep(upstream, client);
    client.once('close', () => upstream.destroy());
    client.on('data', (chunk: Buffer) => upstream.write(chunk)).resume();
    upstream.on('data', (chunk: Buffer) => client.write(chunk));
  };
  const server = createServer({ pauseOnConnect: true }, (client) => {
    keep(client);
    if (isCut) waiting.push(client);
    else join(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound ? bound.port : 0,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.pause();
    },
    restore() {
      isCut = false;
      const late = waiting;
      waiting = [];
      for (const client of late) join(client);
      for (const socket of sockets) socket.resume();
    },
    async stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
