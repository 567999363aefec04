import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { BuildFailure } from './failure.ts';
import { createErrorLineFinder, shortened } from './error-line.ts';

/** Reads a program's output. */
export interface Listener {
  /** Called for each line of output. */
  line(text: string): void;
  /** The reason for the failure in one sentence; undefined when the output contains none. */
  failure(): string | undefined;
}

/**
 * Runs a program without a shell. Its output becomes the build's log.
 * @param options.name its name in messages. Default: the command and its first argument
 * @param options.listener finds the reason for a failure. Default: the exit code and the line that explains it best
 * @throws BuildFailure when it fails
 */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string | undefined>; name?: string; listener?: Listener } = {},
): Promise<void> {
  const { cwd, env, name = [command, ...args.slice(0, 1)].join(' '), listener } = options;
  const finder = createErrorLineFinder();
  const reader = listener ?? finder;
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  forward(child.stdout, process.stdout, reader);
  forward(child.stderr, process.stderr, reader);
  const failure = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(`cannot start: ${error.message}`));
    child.once('close', (code, signal) =>
      resolve(code === 0 ? undefined : `failed with ${code === null ? signal : `exit code ${code}`}`),
    );
  });
  if (failure === undefined) return;
  const what = `${name} ${failure}`;
  const errorLine = finder.errorLine();
  throw new BuildFailure(listener?.failure() ?? shortened(errorLine === undefined ? what : `${what}: ${errorLine}`));
}

/** Copies output immediately, and passes each line to the listener. */
function forward(from: Readable, to: Writable, listener: Pick<Listener, 'line'>): void {
  from.pipe(to, { end: false });
  createInterface({ input: from, crlfDelay: Infinity }).on('line', (text) => listener.line(text));
}

/**
 * What a program prints, without showing it. Text beyond 1 MiB is refused.
 * @param options.timeoutMs default: none
 * @throws Error
 */
export async function capture(
  command: string,
  args: readonly string[],
  { env, timeoutMs }: { env?: Record<string, string | undefined>; timeoutMs?: number } = {},
): Promise<string> {
  const options = {
    env: { ...process.env, ...env },
    maxBuffer: 1024 * 1024,
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
  };
  return (await promisify(execFile)(command, args, options)).stdout;
}
