import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { readImportGraph } from './support/import-graph.ts';

const root = join(import.meta.dirname, '..');

/** A change of one of these can break any test. */
const everything = ['package.json', 'package-lock.json', 'tsconfig.json', 'tests/run.ts', 'tests/suite.ts'];

/**
 * The files of `files` that a change since `ref` can break: committed, staged, unstaged and new files count.
 * @param ref default: where the branch left `main`
 * @throws Error when git does not know the ref
 */
export function filesBrokenSince(ref: string | undefined, files: readonly string[]): string[] {
  const base = git('merge-base', 'HEAD', ref ?? 'main').trim();
  const changed = [
    ...git('diff', '--name-only', base).split('\n'),
    ...git('ls-files', '-o', '--exclude-standard').split('\n'),
  ];
  if (changed.some((file) => everything.includes(file))) return [...files];
  const dependents = readImportGraph(root).dependentsOf(changed.filter((file) => file !== ''));
  return files.filter((file) => dependents.has(file));
}

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}
