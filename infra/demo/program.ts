import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** The root of the checkout. */
export const root = join(import.meta.dirname, '../..');

/** A finished program: its exit code and its output. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a program in the checkout until it exits. After `limitMs` (default: no limit) it is killed, with exit code 1. */
export function run(
  command: string,
  args: readonly string[],
  { env = {}, input, limitMs }: { env?: NodeJS.ProcessEnv; input?: string | undefined; limitMs?: number } = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      ...(limitMs !== undefined && { timeout: limitMs, killSignal: 'SIGKILL' as const }),
    });
    const output = Promise.all([text(child.stdout), text(child.stderr)]);
    // A program that does not read its input may exit before all of it is written.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', (code) => {
      output.then(([stdout, stderr]) => resolve({ code: code ?? 1, stdout, stderr }), reject);
    });
  });
}
