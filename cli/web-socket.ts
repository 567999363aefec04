import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { lookupHost } from './connection.ts';

const connectTimeoutMs = 30_000;
/** The API server sends messages of at most 64 KiB, and the platform of at most 128 KiB. */
const messageMax = 1024 * 1024;

/** A response that refuses a WebSocket. */
export class RefusedSocket extends Error {
  override readonly name = 'RefusedSocket';
  readonly status: number;
  readonly content: string;

  constructor(status: number, content: string) {
    super(`the WebSocket was refused with ${status}`);
    this.status = status;
    this.content = content;
  }
}

/** Opens a WebSocket. Messages that arrive before it has a listener wait: call `resume`. @throws RefusedSocket */
export function openWebSocket(
  url: URL,
  protocol: string,
  headers: Readonly<Record<string, string>>,
): Promise<WebSocket> {
  const address = new URL(url);
  address.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(address, [protocol], {
    headers,
    perMessageDeflate: false,
    handshakeTimeout: connectTimeoutMs,
    maxPayload: messageMax,
    // The library passes it on to `net.connect`.
    ...({ lookup: lookupHost } as object),
  });
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      socket.pause();
      resolve(socket);
    });
    socket.once('unexpected-response', (_request, response: IncomingMessage) => {
      const { socket: connection } = response;
      text(response)
        .then((content) => reject(new RefusedSocket(response.statusCode ?? 0, content)), reject)
        // An ingress keeps the connection open, and it would keep this process from ending.
        .finally(() => connection.destroy());
    });
    // The end of an open connection is reported by `close`.
    socket.on('error', reject);
  });
}
