import { request as httpRequest, STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { joinConnections } from '../../runtime/host/tunnel.ts';
import type { Endpoint } from './endpoints.ts';
import { answerHeaders, forwardHeaders, headerLines, type Mark } from './headers.ts';
import { connectToPod, isConnectError } from './pod-socket.ts';

export interface UpgradeExchange {
  request: IncomingMessage;
  /** The client's connection, which node:http has handed over. */
  socket: Duplex;
  /** What the client sent right behind its request. */
  head: Buffer;
  endpoint: Endpoint;
  requestId: string;
  /** How long nothing may come or go before the answer begins. */
  timeoutMs: number;
  /** Asked once the pod's answer begins. */
  mark: () => Mark;
}

/** As in `forward.ts`. */
export type UpgradeOutcome = 'answered' | 'refused' | 'broken' | 'late' | 'gone';

/** Writes the head of an answer to a connection that node:http no longer manages. */
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
 * Passes an upgrade (a WebSocket's, say) to the pod; after its 101 the two connections are one until either ends. A pod
 * that answers without switching is relayed and the connection closed, since its framing is no longer watched.
 */
export function forwardUpgrade(exchange: UpgradeExchange, settled: (outcome: UpgradeOutcome) => void): void {
  const { request, socket, head, endpoint, requestId, timeoutMs, mark } = exchange;
  const headers = forwardHeaders(request, requestId);
  headers.push('Connection', 'Upgrade', 'Upgrade', request.headers.upgrade ?? '');
  // Without an agent: this connection is never given back.
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
    settled(outcome);
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
      ...['Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade ?? request.headers.upgrade ?? ''],
    ]);
    joinConnections(socket, head, podSocket, podHead);
  });
  upstream.once('response', (answer) => {
    answering = true;
    upstream.setTimeout(0);
    writeRawHead(socket, answer.statusCode ?? 502, answer.statusMessage, [
      ...answerHeaders(answer.rawHeaders, answer.headers.connection, mark()),
      ...['Connection', 'close'],
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
