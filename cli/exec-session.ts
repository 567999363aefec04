import { once } from 'node:events';
import type { WebSocket } from 'ws';
import { channelMessage, execChannels, readExecEnd, type ExecEnd } from '../runtime/contracts/exec-channels.ts';
import type { Context } from './context.ts';
import { Failure, sessionLost } from './failure.ts';

/** Bytes that may wait to be sent before more input is read. */
const waitingMax = 512 * 1024;
/** The platform takes messages of up to 128 KiB. */
const pieceMax = 64 * 1024;

type Output = Pick<Context, 'stdout'>['stdout'];

/** The input and output of a session. */
export interface SessionStreams {
  /** Undefined: the command gets no input. */
  stdin?: Context['stdin'] | undefined;
  stdout: Output;
  stderr: Output;
  /** Whether the command has a terminal, which gets each key and the size of the local one. */
  terminal: boolean;
  /** Leaves the local terminal as it is, and sends no input, until the first message: Ctrl-C ends the wait for the pod. */
  waits?: boolean;
}

/** How a session ended: as the command did, or because the connection closed. */
export type SessionEnd = ExecEnd | { lost: string };

/** Connects a command that runs in a pod with local streams until it ends. @param socket as `ApiClient.open` returns it */
export async function runSession(socket: WebSocket, streams: SessionStreams): Promise<SessionEnd> {
  const { stdin, stdout, stderr, terminal, waits = false } = streams;
  let end: SessionEnd | undefined;
  /** The outputs that are full, until their reader has caught up. */
  const full = new Map<Output, Promise<void>>();
  const waitUntilDrained = async (output: Output) => {
    // It rejects when the reader has left, which ends this process.
    await once(output, 'drain').catch(() => undefined);
  };
  const write = (output: Output, content: Buffer) => {
    // After a pause, the socket still emits the messages that it has read.
    if (output.write(content) || full.has(output)) return;
    // A slow reader slows the command down.
    socket.pause();
    const drained = waitUntilDrained(output).finally(() => {
      full.delete(output);
      if (full.size === 0) socket.resume();
    });
    full.set(output, drained);
  };
  let leaveTerminal: (() => void) | undefined;
  let sending: Promise<void> | undefined;
  let hasStarted = false;
  const start = () => {
    if (hasStarted) return;
    hasStarted = true;
    if (terminal) leaveTerminal = enterTerminal(socket, streams);
    sending = stdin && sendInput(socket, stdin);
  };
  socket.on('message', (data: Buffer) => {
    if (data[0] !== execChannels.error) start();
    const content = data.subarray(1);
    if (data[0] === execChannels.stdout) write(stdout, content);
    else if (data[0] === execChannels.stderr) write(stderr, content);
    else if (data[0] === execChannels.error) end = readExecEnd(content);
  });
  const closed = once(socket, 'close') as Promise<[number, Buffer]>;
  if (!waits) start();
  socket.resume();
  try {
    const [, reason] = await closed;
    await Promise.all(full.values());
    return end ?? { lost: reason.toString() || 'The connection was lost.' };
  } finally {
    leaveTerminal?.();
    // Input that the command did not read would keep this process running.
    stdin?.destroy();
    await sending;
  }
}

/** Runs a session with the streams of the command line until it ends. @returns the exit code @throws Failure */
export async function runInContext(
  context: Context,
  socket: WebSocket,
  { stdin, tty, waits = false }: { stdin: boolean; tty: boolean; waits?: boolean },
): Promise<number> {
  const end = await runSession(socket, {
    waits,
    stdin: stdin ? context.stdin : undefined,
    stdout: context.stdout,
    stderr: context.stderr,
    terminal: tty,
  });
  if ('exitCode' in end) return end.exitCode;
  if ('failure' in end) throw new Failure(`The command could not run: ${end.failure}`, { code: 'exec_failed' });
  context.say(`error: the session ended: ${end.lost}`);
  return sessionLost;
}

async function sendInput(socket: WebSocket, stdin: Context['stdin']): Promise<void> {
  try {
    for await (const chunk of stdin as AsyncIterable<Buffer | string>) {
      const content = Buffer.from(chunk as Buffer);
      for (let from = 0; from < content.length; from += pieceMax) {
        const piece = channelMessage(execChannels.stdin, content.subarray(from, from + pieceMax));
        const sent = new Promise<void>((resolve) => socket.send(piece, () => resolve()));
        if (socket.bufferedAmount > waitingMax) await sent;
      }
    }
    socket.send(channelMessage(execChannels.close, Buffer.of(execChannels.stdin)), () => undefined);
  } catch {
    // The session has ended, which destroys the input.
  }
}

/** Passes each key on unchanged, such as Ctrl-C, and reports the size. @returns a function that restores the terminal */
function enterTerminal(socket: WebSocket, { stdin, stdout }: SessionStreams): () => void {
  const report = () => {
    const { columns, rows } = stdout;
    if (columns === undefined || rows === undefined) return;
    const size = JSON.stringify({ Width: columns, Height: rows });
    socket.send(channelMessage(execChannels.resize, size), () => undefined);
  };
  report();
  stdout.on('resize', report);
  stdin?.setRawMode?.(true);
  return () => {
    stdin?.setRawMode?.(false);
    stdout.off('resize', report);
  };
}
