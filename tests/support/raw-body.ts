import { once } from 'node:events';
import { connect } from 'node:net';

export const mebibyte = 2 ** 20;

/** Sends raw bytes, and collects what the server answers. */
export function send(port: number, bytes: string | Buffer) {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  // The server may close the connection while bytes are still being sent.
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(answer)));
  const sent = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.write(bytes, () => resolve());
  });
  return { socket, closed, sent };
}

/** More than the buffers of both ends of a connection hold. */
export const huge = 64 * mebibyte;
const zeros = Buffer.alloc(huge);

/** A request whose body is sent as far as the server takes it, and what the client sees of the connection. */
export function flood(
  port: number,
  path: string,
  { size, method = 'POST', host = 'console.test' }: { size: number; method?: string; host?: string },
) {
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${size}\r\n\r\n`;
  const sending = send(port, head);
  const { socket } = sending;
  const ended = new Promise<'ended' | 'reset'>((resolve) => {
    socket.once('end', () => resolve('ended'));
    socket.once('close', () => resolve('reset'));
  });
  let taken = false;
  socket.write(zeros.subarray(0, size), (error) => (taken = !error));
  /** Whether the server's end of the connection took all of the body. */
  const isTaken = () => taken;
  const answered = once(socket, 'data');
  // For a caller that does not wait for the answer, which a reset can take with it.
  answered.catch(() => undefined);
  return { ...sending, ended, isTaken, answered };
}
