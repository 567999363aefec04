import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import type { Credentials } from './credentials.ts';
import type { KubeError } from './kube-client.ts';
import { kubeErrorOf } from './transport.ts';

const handshakeMs = 30_000;
/** Largest message of the API server, in bytes. It sends output in pieces of 32 KiB. */
const messageMax = 1024 * 1024;

/**
 * Opens a WebSocket of the API server. It stays open until `signal` aborts or one side closes it.
 * @throws KubeError when the API server refuses it
 */
export async function openWebSocket(
  credentials: Credentials,
  path: string,
  protocol: string,
  signal: AbortSignal,
): Promise<WebSocket> {
  const opened = await attempt(credentials, path, protocol, signal);
  if (opened instanceof WebSocket) return opened;
  if (opened.status !== 401) throw opened;
  credentials.expire();
  const second = await attempt(credentials, path, protocol, signal);
  if (second instanceof WebSocket) return second;
  throw second;
}

async function attempt(
  credentials: Credentials,
  path: string,
  protocol: string,
  signal: AbortSignal,
): Promise<WebSocket | KubeError> {
  const { server, headers, agent } = await credentials.access();
  signal.throwIfAborted();
  const socket = new WebSocket(server.replace(/^http/, 'ws') + path, [protocol], {
    headers,
    agent,
    perMessageDeflate: false,
    handshakeTimeout: handshakeMs,
    maxPayload: messageMax,
  });
  const end = () => socket.terminate();
  signal.addEventListener('abort', end, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', end));
  const refusal = once(socket, 'unexpected-response') as Promise<[unknown, IncomingMessage]>;
  // Once the socket is open, nothing waits for a refusal.
  refusal.catch(() => undefined);
  try {
    return await Promise.race([
      once(socket, 'open').then(() => socket),
      refusal.then(async ([, response]) => refusalOf(response)),
    ]);
  } finally {
    // The end of an open connection is reported by `close`.
    socket.on('error', () => socket.terminate());
  }
}

async function refusalOf(response: IncomingMessage): Promise<KubeError> {
  const body = await text(response);
  try {
    return kubeErrorOf(response.statusCode ?? 0, JSON.parse(body));
  } catch {
    return kubeErrorOf(response.statusCode ?? 0, undefined);
  }
}
