import { spawn } from 'node:child_process';
import { chownSync, closeSync, constants, openSync } from 'node:fs';
import { constants as system } from 'node:os';
import type { ReadStream } from 'node:tty';
import * as pty from '@lydell/node-pty';
import type { Program } from './process-group.ts';

/** What the node tells the terminal: first the program, then sizes, and at last that it shall end. */
export type ToTerminal = { program: Program } | { size: { columns: number; rows: number } } | { kill: true };
/** What the terminal reports once. */
export type FromTerminal = { exitCode: number } | { failure: string };

/** The parts of node-pty that its types leave out: `open` starts no program. */
interface OpenTerminal {
  ptsName: string;
  resize(columns: number, rows: number): void;
  _master: ReadStream & NodeJS.WritableStream;
  _slave: ReadStream;
}
const openTerminal = (pty as unknown as { open: (options: object) => OpenTerminal }).open;

/**
 * Starts the program as the leader of a session with this terminal. node-pty itself would keep this process's groups,
 * which Node.js's `spawn` drops; setsid already runs as the program's user.
 */
const setsid = ['/usr/bin/setsid', '--ctty'] as const;
/** How long to wait, after the end, for output of processes that left the session, in ms. */
const outputMs = 500;

const terminal = openTerminal({ cols: 80, rows: 24, encoding: null });
let leader: number | undefined;

function start({ command, cwd, env, user }: Program): void {
  const side = openSync(terminal.ptsName, constants.O_RDWR | constants.O_NOCTTY);
  if (user !== undefined) chownSync(terminal.ptsName, user, user);
  const [launcher, ...options] = setsid;
  const child = spawn(launcher, [...options, ...command], {
    cwd,
    env: { TERM: 'xterm-256color', ...env },
    stdio: [side, side, side],
    ...(user !== undefined && { uid: user, gid: user }),
  });
  closeSync(side);
  terminal._slave.destroy();
  leader = child.pid;
  child.once('error', (error) => report({ failure: error.message }));
  child.once('exit', (code, signal) => {
    const finish = () => report({ exitCode: code ?? 128 + (signal === null ? 0 : system.signals[signal]) });
    // The terminal closes once no process of the session is left.
    const timer = setTimeout(finish, outputMs);
    const finishEarly = () => {
      clearTimeout(timer);
      finish();
    };
    if (terminal._master.destroyed) finishEarly();
    else terminal._master.once('close', finishEarly);
  });
}

function kill(): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL');
  } catch {
    // The session has ended.
  }
}

function report(message: FromTerminal): void {
  process.stdout.end(() => process.send?.(message, () => process.exit()));
}

// Linux reports EIO once no process has the terminal any more.
terminal._master.on('error', () => terminal._master.destroy());
terminal._master.pipe(process.stdout, { end: false });
process.stdin.pipe(terminal._master, { end: false });
process.stdout.on('error', kill);
process.on('message', (message: ToTerminal) => {
  if ('program' in message) start(message.program);
  else if ('size' in message) terminal.resize(message.size.columns, message.size.rows);
  else {
    kill();
    if (leader === undefined) process.exit();
  }
});
// The node has ended.
process.on('disconnect', () => {
  kill();
  process.exit();
});
