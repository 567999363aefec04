import { request as httpRequest, STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { joinConnections } from '../../runtime/http/tunnel.ts';
import type { Endpoint } from './endpoints.ts';
import { answerHeaders, forwardHeaders, headerLines, type Mark } from './headers.ts';
import { connectToPod, isConnectError } from './pod-socket.ts';

export interface UpgradeExchange {
  request: IncomingMessage;
  /** The client's connection, which node:http has handed over. */
  socket: Duplex;
  /** Data that the client sent after its request. */
  head: Buffer;
  endpoint: Endpoint;
  requestId: string;
  /** Time-out without data in either direction before the response begins. */
  timeoutMs: number;
  /** Called when the pod's response begins. */
  mark: () => Mark;
}

/** The outcomes of `forward.ts`. */
export type UpgradeOutcome = 'answered' | 'refused' | 'broken' | 'late' | 'gone';

/** Writes the head of a response to a connection that node:http no longer manages. */
export function writeRawHead(
  socket: Duplex,
  status: number,
  statusMessage: string | undefined,
  headers: readonly string[],
): void {
  const line = `HTTP/1.1 ${status} ${statusMessage ?? STATUS_CODES[status] ?? ''}`;
  socket.write(`${line}\r\n${headerLines(headers)}\r\n`, 'latin1');
}

/**
 * Forwards an upgrade such as a WebSocket. After the pod's 101, the two connections are joined until either ends. Any
 * other response of the pod is relayed and the connection closed, because its framing is no longer checked.
 */
export function forwardUpgrade(exchange: UpgradeExchange, onOutcome: (outcome: UpgradeOutcome) => void): void {
  const { request, socket, head, endpoint, requestId, timeoutMs, mark } = exchange;
  const headers = forwardHeaders(request, requestId);
  headers.push('Connection', 'Upgrade', 'Upgrade', request.headers.upgrade ?? '');
  // Without an agent: this connection is never reused.
  const upstream = httpRequest({
    agent: false,
    createConnection: () => connectToPod({ host: endpoint.host, port: endpoint.port }),
    host: endpoint.host,
    port: endpoint.port,
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers,
  });
  let answering = false;
  const settle = (outcome: UpgradeOutcome) => {
    socket.off('close', onClose);
    onOutcome(outcome);
  };
  const onClose = () => {
    upstream.destroy();
    settle(answering ? 'answered' : 'gone');
  };
  socket.once('close', onClose);

  upstream.setTimeout(timeoutMs, () => {
    if (answering) return;
    settle('late');
    upstream.destroy();
  });
  upstream.once('upgrade', (answer, podSocket: Duplex, podHead: Buffer) => {
    answering = true;
    upstream.setTimeout(0);
    writeRawHead(socket, answer.statusCode ?? 101, answer.statusMessage, [
      ...answerHeaders(answer.rawHeaders, answer.headers.connection, mark()),
      'Connection',
      'Upgrade',
      'Upgrade',
      answer.headers.upgrade ?? request.headers.upgrade ?? '',
    ]);
    joinConnections(socket, head, podSocket, podHead);
  });
  upstream.once('response', (answer) => {
    answering = true;
    upstream.setTimeout(0);
    writeRawHead(socket, answer.statusCode ?? 502, answer.statusMessage, [
      ...answerHeaders(answer.rawHeaders, answer.headers.connection, mark()),
      'Connection',
      'close',
    ]);
    answer.once('error', () => socket.destroy());
    answer.pipe(socket);
  });
  upstream.on('error', (error) => {
    if (answering) socket.destroy();
    else settle(isConnectError(error) ? 'refused' : 'broken');
  });
  upstream.once('close', () => {
    if (!answering) settle('broken');
  });
  upstream.end();
}
