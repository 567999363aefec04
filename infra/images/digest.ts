import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A digest of the paths, modes and contents of files and folders under `root`, and of further texts. */
export function digestOf(root: string, inputs: readonly string[], ...more: readonly string[]): string {
  const hash = createHash('sha256');
  for (const input of [...inputs].sort()) {
    for (const file of filesBelow(root, input)) {
      const path = join(root, file);
      hash
        .update(`${file}\0${statSync(path).mode & 0o111 ? 'x' : '-'}\0`)
        .update(readFileSync(path))
        .update('\0');
    }
  }
  for (const text of more) hash.update(`${text}\0`);
  return hash.digest('hex').slice(0, 20);
}

function filesBelow(root: string, input: string): string[] {
  if (!statSync(join(root, input)).isDirectory()) return [input];
  return readdirSync(join(root, input), { recursive: true, encoding: 'utf8' })
    .map((name) => join(input, name))
    .filter((file) => statSync(join(root, file)).isFile())
    .sort();
}
