import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant } from './mutants.ts';

/** Sources only: tests use what they test as its other users do. */
const sources = ['cli', 'functions', 'gate', 'infra', 'runtime', 'workers'];

/**
 * The mutants that the type checker refuses: they are no programs, so no test has to notice them. A check takes long, so one
 * covers a mutant of each file.
 * @param copy a copy of the checkout, which is unchanged afterwards
 */
export async function invalidMutants(mutants: readonly Mutant[], copy: string): Promise<Set<Mutant>> {
  const config = join(copy, 'tsconfig.mutants.json');
  writeFileSync(config, JSON.stringify({ extends: './tsconfig.json', include: sources }));
  const invalid = new Set<Mutant>();
  for (let left = [...mutants]; left.length > 0;) {
    const batch = [...new Map(left.map((mutant) => [mutant.file, mutant])).values()];
    left = left.filter((mutant) => !batch.includes(mutant));
    const faulty = await faultyFiles(batch, copy, config);
    const isAmbiguous = batch.length > 1 && [...faulty].some((file) => !batch.some((mutant) => mutant.file === file));
    for (const mutant of batch) {
      // An error in another file does not say whose it is.
      const faults = isAmbiguous ? await faultyFiles([mutant], copy, config) : faulty;
      if (faults.has(mutant.file) || ((batch.length === 1 || isAmbiguous) && faults.size > 0)) invalid.add(mutant);
    }
  }
  return invalid;
}

/** The files in which the type checker finds errors while these mutants are in place. */
async function faultyFiles(mutants: readonly Mutant[], copy: string, config: string): Promise<Set<string>> {
  for (const { file, text } of mutants) writeFileSync(join(copy, file), text);
  try {
    const cached = ['--incremental', '--tsBuildInfoFile', join(copy, '.cache/types')];
    const child = spawn(
      join(copy, 'node_modules/.bin/tsc'),
      ['-p', config, '--noEmit', '--pretty', 'false', ...cached],
      { cwd: copy, stdio: ['ignore', 'pipe', 'ignore'] },
    );
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await once(child, 'close');
    return new Set([...output.matchAll(/^([^\s(]+)\(\d+,\d+\): error/gm)].map(([, file = '']) => file));
  } finally {
    for (const { file, source } of mutants) writeFileSync(join(copy, file), source);
  }
}
