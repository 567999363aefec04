import type { IncomingMessage } from 'node:http';
import { PassThrough, Writable, type Readable } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { ApiError, badRequest, notImplemented, type Status } from './api-error.ts';
import { flag, type Exchange } from './exchange.ts';
import type { Objects, Place } from './objects.ts';
import { containerOf } from './pod-logs.ts';
import type { ApiObject } from './resource.ts';

/** The command's input and output. */
interface ExecStreams {
  stdin?: Readable;
  stdout?: Writable;
  stderr?: Writable;
}

/** The size of a terminal, in characters. */
interface TerminalSize {
  columns: number;
  rows: number;
}

/** The terminal of a command: its client reports each size. */
interface ExecTerminal {
  /** Calls the listener with the current size, if it is known, and with each later one. */
  onResize(listener: (size: TerminalSize) => void): void;
}

/** Runs a command in a container, on the node. @returns the exit code @throws Error when the command cannot run */
export type PodExec = (
  pod: ApiObject,
  options: { container: string; command: readonly string[]; terminal?: ExecTerminal },
  streams: ExecStreams,
  signal: AbortSignal,
) => Promise<number>;

/** Serves `pods/exec` over WebSockets, as `kubectl exec` uses it since 1.31. */
export interface Exec {
  /** @throws ApiError before the connection becomes a WebSocket */
  serve: (exchange: Exchange, place: Place) => void;
  /** Closes every connection. */
  stop(): void;
}

/** https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets */
const protocol = 'v5.channel.k8s.io';
/** The first byte of a message is its channel. */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 };
/** The largest size of a terminal: the kernel's field has 16 bits. */
const sizeMax = 65_535;

export function createExec(options: { objects: Objects; exec: PodExec | undefined }): Exec {
  const { objects, exec } = options;
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => protocol });

  return {
    serve({ request, query, upgrade }, place) {
      const pod = objects.get(place);
      if (!exec) throw notImplemented('pods/exec without a node');
      const container = containerOf(pod, query);
      const command = query.getAll('command');
      if (command.length === 0) throw badRequest('you must specify at least one command for the container');
      if (!upgrade || !isSupportedUpgrade(request))
        throw notImplemented(`pods/exec without a WebSocket of ${protocol}`);
      sockets.handleUpgrade(request, upgrade.socket, upgrade.head, (socket) => {
        const closed = new AbortController();
        socket.once('close', () => closed.abort());
        socket.on('error', () => socket.terminate());
        const streams = streamsOf(socket, query);
        const terminal = flag(query, 'tty') && { terminal: terminalOf(socket) };
        exec(pod, { container, command, ...terminal }, streams, closed.signal).then(
          (code) => finish(socket, statusOf(code)),
          (error: unknown) => finish(socket, failure(error)),
        );
      });
    },
    stop() {
      for (const socket of sockets.clients) socket.terminate();
    },
  };
}

function isSupportedUpgrade({ method, headers }: IncomingMessage): boolean {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && offered.includes(protocol);
}

function streamsOf(socket: WebSocket, query: URLSearchParams): ExecStreams {
  const output = (channel: number) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        socket.send(Buffer.concat([Buffer.of(channel), chunk]), done);
      },
    });
  return {
    ...(flag(query, 'stdin') && { stdin: inputOf(socket) }),
    ...(flag(query, 'stdout') && { stdout: output(channels.stdout) }),
    // A terminal has one output.
    ...(flag(query, 'stderr') && !flag(query, 'tty') && { stderr: output(channels.stderr) }),
  };
}

function terminalOf(socket: WebSocket): ExecTerminal {
  let current: TerminalSize | undefined;
  let report: ((size: TerminalSize) => void) | undefined;
  socket.on('message', (data: Buffer) => {
    if (data[0] !== channels.resize) return;
    const size = parseSize(data.subarray(1).toString());
    if (!size) return;
    current = size;
    report?.(size);
  });
  return {
    onResize(listener) {
      report = listener;
      if (current) listener(current);
    },
  };
}

/** Reads `{"Width":80,"Height":24}`; undefined for anything else. */
function parseSize(text: string): TerminalSize | undefined {
  try {
    const { Width: columns, Height: rows } = JSON.parse(text) as { Width?: unknown; Height?: unknown };
    const isSize = (value: unknown): value is number => Number.isInteger(value) && Number(value) > 0;
    if (!isSize(columns) || !isSize(rows)) return undefined;
    return { columns: Math.min(columns, sizeMax), rows: Math.min(rows, sizeMax) };
  } catch {
    return undefined;
  }
}

function inputOf(socket: WebSocket): Readable {
  const input = new PassThrough();
  socket.on('message', (data: Buffer) => {
    if (!input.writable) return;
    if (data[0] === channels.close && data[1] === channels.stdin) input.end();
    else if (data[0] === channels.stdin && !input.write(data.subarray(1))) socket.pause();
  });
  input.on('drain', () => socket.resume());
  socket.once('close', () => input.end());
  return input;
}

function finish(socket: WebSocket, status: Status): void {
  socket.send(Buffer.concat([Buffer.of(channels.error), Buffer.from(JSON.stringify(status))]));
  socket.close(1000);
  // Discards unread input, so that the connection can close.
  socket.removeAllListeners('message');
  socket.resume();
}

function statusOf(code: number): Status {
  if (code === 0) return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
  return new ApiError(500, 'NonZeroExitCode', `command terminated with exit code ${code}`, {
    causes: [{ reason: 'ExitCode', message: String(code) }],
  }).status;
}

function failure(error: unknown): Status {
  const reason = error instanceof Error ? error.message : String(error);
  return new ApiError(500, 'InternalError', `Internal error occurred: error executing command in container: ${reason}`)
    .status;
}
