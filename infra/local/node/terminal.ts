import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { StartError, type Program, type Streams } from './process-group.ts';
import type { FromTerminal, ToTerminal } from './terminal-process.ts';

/** The terminal of a program, whose size may change. */
export interface Terminal {
  /** Calls the listener with the current size, if it is known, and with each later one. */
  onResize(listener: (size: { columns: number; rows: number }) => void): void;
}

const helper = join(import.meta.dirname, 'terminal-process.ts');

/**
 * Runs an additional program in a container with a terminal, until it ends and its output is written. When the signal
 * aborts, its session is killed. A process of its own holds the terminal: in this process, every pod that starts would
 * inherit it.
 * @returns its exit code
 * @throws StartError
 */
export async function executeInTerminal(
  program: Program,
  stop: AbortSignal,
  { stdin, stdout }: Streams = {},
  terminal: Terminal,
): Promise<number> {
  const { command, cwd, env, user } = program;
  if (command[0] === undefined) throw new StartError('The command is empty.');
  // Nothing of the pod's environment may reach the helper, which may run as root.
  const child = fork(helper, { stdio: ['pipe', 'pipe', 'inherit', 'ipc'], env: {}, serialization: 'advanced' });
  const tell = (message: ToTerminal) => {
    if (child.connected) child.send(message, () => undefined);
  };
  const exited = exitCodeOf(child);
  // It is awaited below, and may reject before.
  exited.catch(() => undefined);
  child.on('error', () => undefined);
  const kill = () => tell({ kill: true });
  if (stop.aborted) kill();
  stop.addEventListener('abort', kill, { once: true });
  tell({ program: { command, cwd, env, user } });
  terminal.onResize((size) => tell({ size }));
  // A reader or writer that leaves must not stop the program.
  if (stdin && child.stdin) void pipeline(stdin, child.stdin).catch(() => undefined);
  const written =
    stdout && child.stdout
      ? pipeline(child.stdout, stdout).catch(() => undefined)
      : Promise.resolve(child.stdout?.resume());
  try {
    const code = await exited;
    await written;
    return code;
  } finally {
    stop.removeEventListener('abort', kill);
  }
}

/** @throws StartError when the terminal process cannot start the program, or ends before it */
async function exitCodeOf(child: ChildProcess): Promise<number> {
  const ended = once(child, 'exit');
  const result = await Promise.race([
    new Promise<FromTerminal>((resolve) => child.once('message', (message: FromTerminal) => resolve(message))),
    ended.then((): FromTerminal => ({ failure: 'Its terminal has ended.' })),
  ]);
  if ('failure' in result) throw new StartError(`Cannot run the command in a terminal: ${result.failure}`);
  return result.exitCode;
}
