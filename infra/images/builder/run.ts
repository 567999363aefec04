import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { BuildFailure } from './failure.ts';
import { createTellingLine, shortened } from './telling-line.ts';

/** What listens to a program. */
export interface Listener {
  /** Takes each line that it prints. */
  line(text: string): void;
  /** Why it failed, in one sentence; undefined when it printed nothing that says so. */
  failure(): string | undefined;
}

/**
 * Runs a program by its arguments, never through a shell; what it prints is the build's log.
 * @param options.name what a person calls it; default the command with its first argument
 * @param options.listener makes the failure's message of what was printed; default how the program ended, and its most
 *   telling line
 * @throws BuildFailure when it does not end well
 */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string | undefined>; name?: string; listener?: Listener } = {},
): Promise<void> {
  const { cwd, env, name = [command, ...args.slice(0, 1)].join(' '), listener } = options;
  const words = createTellingLine();
  const heard = listener ?? words;
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  passOn(child.stdout, process.stdout, heard);
  passOn(child.stderr, process.stderr, heard);
  const ended = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(`cannot be run: ${error.message}`));
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `ended with ${code ?? signal}`));
  });
  if (ended === undefined) return;
  const what = `${name} ${ended}`;
  const said = words.said();
  throw new BuildFailure(listener?.failure() ?? shortened(said === undefined ? what : `${what}: ${said}`));
}

/** All of it, and as it comes. */
function passOn(from: Readable, to: Writable, listener: Pick<Listener, 'line'>): void {
  from.pipe(to, { end: false });
  createInterface({ input: from, crlfDelay: Infinity }).on('line', (text) => listener.line(text));
}
