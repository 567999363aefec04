import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** Runs a program and returns its stdout. @throws Error with the last lines of its output when it fails */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [stdout, stderr] = await output;
  if (code !== 0) {
    const lastLines = (stderr + stdout).trim().split('\n').slice(-60).join('\n');
    throw new Error(`${command} ${args[0] ?? ''} ended with code ${String(code)}:\n${lastLines}`);
  }
  return stdout;
}

/** Runs buildah and returns its stdout. @throws Error when it fails */
export type Buildah = (args: readonly string[], cwd?: string) => Promise<string>;

/** Creates a buildah with its own store in `folder`, separate from the machine's containers. */
export function createBuildah(folder: string): Buildah {
  const store = ['--root', `${folder}/storage`, '--runroot', `${folder}/run`, '--storage-driver', 'overlay'];
  return (args, cwd) => run('buildah', [...store, ...args], cwd === undefined ? {} : { cwd });
}
