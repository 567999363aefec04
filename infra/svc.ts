import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** Runs `svc` and logs each line of its progress, but not its result. @throws Error with the whole output when it fails */
export async function runSvc(args: readonly string[], log: (line: string) => void): Promise<void> {
  const main = join(import.meta.dirname, '../cli/svc.js');
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    for (const line of chunk.toString().split('\n').filter(Boolean)) log(line);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`svc ${args[0]} failed with exit code ${code}:\n${output}`);
}
