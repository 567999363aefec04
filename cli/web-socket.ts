import type { IncomingMessage } from 'node:http';
import { connect, isIP, type NetConnectOpts, type OnReadOpts } from 'node:net';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { lookupHost } from './connection.ts';
import { FrameSocket } from './frame-socket.ts';

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

/** A WebSocket whose binary messages are taken from its connection, not from `message` events. */
export interface DataSocket {
  socket: WebSocket;
  content: FrameSocket;
}

/** Opens a WebSocket for much binary data, in messages of any size. @throws RefusedSocket */
export async function openDataSocket(
  url: URL,
  protocol: string,
  headers: Readonly<Record<string, string>>,
): Promise<DataSocket> {
  // A command without TLS does not load it.
  const tls = url.protocol === 'https:' ? process.getBuiltinModule('node:tls') : undefined;
  const { promise, resolve } = Promise.withResolvers<FrameSocket>();
  const createConnection = (options: NetConnectOpts & { host: string; servername?: string }) => {
    const servername = options.servername ?? (isIP(options.host) === 0 ? options.host : '');
    const content = new FrameSocket((onread: OnReadOpts) => {
      // As `ws` does: `path` is that of the URL, and would be taken for a socket of this machine.
      const address = { ...options, path: undefined, onread } as NetConnectOpts;
      return tls ? tls.connect({ ...address, servername }) : connect(address);
    });
    resolve(content);
    return content;
  };
  const socket = await openWebSocket(url, protocol, headers, { createConnection });
  return { socket, content: await promise };
}

/** Opens a WebSocket. Messages that arrive before it has a listener wait: call `resume`. @throws RefusedSocket */
export function openWebSocket(
  url: URL,
  protocol: string,
  headers: Readonly<Record<string, string>>,
  options: object = {},
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
    ...options,
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
