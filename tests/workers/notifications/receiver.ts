import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

/** One message as it arrived. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A receiver of notifications on the loopback interface. */
export interface Receiver {
  port: number;
  url: string;
  /** All messages that arrived. */
  received: Received[];
  /** The answers to the next messages; default 204. */
  answer: (response: ServerResponse, received: Received) => void;
  /** Resolves when `count` messages have arrived in all. */
  arrived(count: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startReceiver(t: { teardown(end: () => unknown): void }): Promise<Receiver> {
  const waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const one = { path: request.url ?? '', headers: request.headers, body: await text(request) };
      receiver.received.push(one);
      for (const { count, resolve } of waiting) if (receiver.received.length >= count) resolve();
      receiver.answer(response, one);
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const receiver: Receiver = {
    port: address.port,
    url: `http://127.0.0.1:${address.port}/hook`,
    received: [],
    answer: (response) => response.writeHead(204).end(),
    arrived: (count) =>
      new Promise((resolve) => {
        if (receiver.received.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}
