import { spawn } from 'node:child_process';
import { BuildFailure } from './failure.ts';

/**
 * Runs a program by its arguments, never through a shell; what it prints is the build's log.
 * @throws BuildFailure when it does not end well
 */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string | undefined> } = {},
): Promise<void> {
  const { cwd, env } = options;
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(`cannot be run: ${error.message}`));
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `ended with ${code ?? signal}`));
  });
  if (ended !== undefined) throw new BuildFailure(`${command} ${args[0] ?? ''} ${ended}`.replace('  ', ' '));
}
