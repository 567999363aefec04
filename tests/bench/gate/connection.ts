import { once } from 'node:events';
import { connect } from 'node:net';

const readBytes = 64 * 1024;
const zero = 48;

/**
 * A keep-alive connection with at most one request in progress. It parses as little as possible, since it shares a
 * core.
 */
export interface Connection {
  /** Writes one request; the answer goes to the callback that the connection was opened with. */
  send(request: Buffer): void;
  close(): void;
}

/** The events of a connection. */
export interface ConnectionEvents {
  /** A whole answer arrived. */
  answered(connection: Connection, status: number): void;
  /** The server closed the connection, or sent an invalid answer. */
  failed(error: Error): void;
}

/** The length of the complete answer at the buffer's start, or undefined while its head is incomplete. */
function answerLength(buffer: Buffer): number | undefined {
  const headEnd = buffer.indexOf('\r\n\r\n', 0, 'latin1');
  if (headEnd < 0) return undefined;
  const head = buffer.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`an answer without Content-Length: ${head}`);
  return headEnd + 4 + Number(length);
}

/** Resolves once connected. */
export async function openConnection(host: string, port: number, events: ConnectionEvents): Promise<Connection> {
  let pending: Buffer | undefined;
  // Answers of one kind have the same length, so an answer that starts like the last one needs no parsing.
  let usualLength = 0;
  let usualStatus = 0;

  const received = (chunk: Buffer) => {
    const status = ((chunk[9] ?? 0) - zero) * 100 + ((chunk[10] ?? 0) - zero) * 10 + ((chunk[11] ?? 0) - zero);
    if (pending === undefined && chunk.length === usualLength && status === usualStatus) {
      events.answered(connection, status);
      return;
    }
    pending = pending === undefined ? Buffer.from(chunk) : Buffer.concat([pending, chunk]);
    const length = answerLength(pending);
    if (length === undefined || pending.length < length) return;
    if (pending.length > length) throw new Error('more than one answer to one request');
    usualLength = length;
    usualStatus = Number(pending.toString('latin1', 9, 12));
    pending = undefined;
    events.answered(connection, usualStatus);
  };

  let closed = false;
  const socket = connect({
    host,
    port,
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback(size, buffer) {
        if (closed) return true;
        try {
          received((buffer as Buffer).subarray(0, size));
        } catch (error) {
          events.failed(error as Error);
        }
        return true;
      },
    },
  });
  const connection: Connection = {
    send(request) {
      socket.write(request);
    },
    close() {
      closed = true;
      socket.destroy();
    },
  };
  await once(socket, 'connect');
  socket.on('error', (error) => events.failed(error));
  socket.on('close', () => {
    if (!closed) events.failed(new Error('the server closed the connection'));
  });
  return connection;
}
