import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { forwardEnd } from '../runtime/contracts/api/port-forward.ts';
import { sessionCodes } from '../runtime/contracts/session-codes.ts';
import { Failure } from './failure.ts';
import type { FrameSocket } from './frame-socket.ts';
import type { DataSocket } from './web-socket.ts';

/** Bytes that may wait to be sent before more is read from the local connection. */
const waitingMax = 512 * 1024;
/** The platform takes messages of up to 128 KiB. */
const pieceMax = 64 * 1024;
const loopback = '127.0.0.1';

/** A local port whose connections lead to a workload. */
export interface Forward {
  port: number;
  /** Closes the port and its connections. */
  close(): void;
}

/**
 * Listens on a port of this machine, and opens a WebSocket for each connection.
 * @param options.port 0 for a free one
 * @param options.open opens the WebSocket @param options.report gets the reason why a connection failed
 * @throws Failure when the port is in use
 */
export async function startForward(options: {
  port: number;
  open: () => Promise<DataSocket>;
  report: (reason: string) => void;
}): Promise<Forward> {
  const { open, report } = options;
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    open().then(
      (remote) => join(socket, remote, report),
      (error: unknown) => {
        report(error instanceof Error ? error.message : String(error));
        socket.destroy();
      },
    );
  });
  await listen(server, options.port);
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : options.port;
  return {
    port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, loopback);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      throw new Failure(`Port ${port} of this machine is in use.`, {
        code: 'port_in_use',
        hint: 'choose another local port, such as 15432:5432, or 0 for a free one',
      });
    }
    if (code === 'EACCES') {
      throw new Failure(`Port ${port} needs root.`, { code: 'port_in_use', hint: 'choose a local port above 1023' });
    }
    throw error;
  }
}

function join(local: Socket, { socket: remote, content }: DataSocket, report: (reason: string) => void): void {
  // The platform sends the text message that ends its direction.
  remote.on('message', () => local.end());
  local.on('drain', () => content.resumeContent());
  remote.once('close', (code, reason) => {
    // Its last data was written already.
    if (code === sessionCodes.done) local.end(() => local.destroy());
    else local.destroy();
    if (code !== sessionCodes.done && reason.length > 0) report(reason.toString());
  });
  local.on('data', (data: Buffer) => {
    for (let from = 0; from < data.length; from += pieceMax) {
      remote.send(data.subarray(from, from + pieceMax), { binary: true }, () => {
        if (local.isPaused() && remote.bufferedAmount <= waitingMax / 2) local.resume();
      });
    }
    if (remote.bufferedAmount > waitingMax) local.pause();
  });
  local.once('end', () => remote.send(forwardEnd, () => undefined));
  const leave = () => {
    // What is not read would keep the close frame from arriving.
    content.resumeContent();
    remote.close(sessionCodes.done);
  };
  local.once('close', leave);
  remote.resume();
  content.start((pieces, release) => writeAtOnce(local, content, { pieces, release }));
  if (local.destroyed) leave();
  local.resume();
}

/** Writes what was read at once, and stops reading from the platform until a slow client has it. */
function writeAtOnce(
  local: Socket,
  content: FrameSocket,
  { pieces, release }: { pieces: readonly Buffer[]; release: () => void },
): void {
  if (!local.writable) return;
  local.cork();
  for (const [index, piece] of pieces.entries()) {
    if (index < pieces.length - 1) local.write(piece);
    else local.write(piece, release);
  }
  local.uncork();
  if (local.writableNeedDrain && local.writableLength > 0) content.pauseContent();
}
