import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** Runs a program to its end and gives what it printed. @throws Error with its last lines when it fails */
export async function run(command: string, args: readonly string[], options: { cwd?: string } = {}): Promise<string> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [stdout, stderr] = await output;
  if (code !== 0) {
    const said = (stderr + stdout).trim().split('\n').slice(-60).join('\n');
    throw new Error(`${command} ${args[0] ?? ''} ended with code ${String(code)}:\n${said}`);
  }
  return stdout;
}

/** Runs buildah and gives what it printed. @throws Error when it fails */
export type Buildah = (args: readonly string[], cwd?: string) => Promise<string>;

/** buildah with a store of its own below `folder`, so that the machine's containers are never touched. */
export function createBuildah(folder: string): Buildah {
  const store = ['--root', `${folder}/storage`, '--runroot', `${folder}/run`, '--storage-driver', 'overlay'];
  return (args, cwd) => run('buildah', [...store, ...args], cwd === undefined ? {} : { cwd });
}
