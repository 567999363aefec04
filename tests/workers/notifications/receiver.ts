import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { text } from 'node:stream/consumers';
import type { KeyPair } from '../../../infra/local/apiserver/certificate.ts';

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

/** @param options.tls answers with HTTPS */
export async function startReceiver(
  t: { teardown(end: () => unknown): void },
  { tls }: { tls?: KeyPair } = {},
): Promise<Receiver> {
  const waiting: { count: number; resolve: () => void }[] = [];
  const listener: RequestListener = (request, response) => {
    void (async () => {
      const one = { path: request.url ?? '', headers: request.headers, body: await text(request) };
      receiver.received.push(one);
      for (const { count, resolve } of waiting) if (receiver.received.length >= count) resolve();
      receiver.answer(response, one);
    })();
  };
  const server = tls ? createTlsServer({ key: tls.key, cert: tls.certificate }, listener) : createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const receiver: Receiver = {
    port: address.port,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${address.port}/hook`,
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
