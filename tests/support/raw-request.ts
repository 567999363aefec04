import { once } from 'node:events';
import { connect } from 'node:net';

/** What was sent by this process. */
export const sentRaw = { requests: 0 };

/**
 * Sends bytes to the ingress on a connection of their own, and reads until it closes the connection or `quietMs` pass
 * without a byte: what is no request may wait for more. @returns everything that was answered
 */
export async function sendRaw(ingress: URL, bytes: string | Buffer, quietMs = 2_000): Promise<string> {
  sentRaw.requests += 1;
  const socket = connect(Number(ingress.port), ingress.hostname);
  await once(socket, 'connect');
  let answer = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk));
  // A client that is refused before its whole request was read may see a reset after the answer, at which `once` rejects.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.setTimeout(quietMs, () => socket.destroy());
  // The socket is not ended, because the ingress would take that for a client that has left.
  socket.write(bytes);
  await closed;
  return answer;
}
