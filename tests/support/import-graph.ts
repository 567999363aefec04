import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** Which files use which, according to their texts: imports, and paths of files and folders that they read or start. */
export interface ImportGraph {
  /** Every file of the repository that can affect a test's result, relative to the root. */
  files: readonly string[];
  /** The files that use one of these, directly or indirectly, and these themselves. */
  dependentsOf(changed: readonly string[]): Set<string>;
  /** The files that name this one directly. */
  usersOf(file: string): readonly string[];
}

const folders = ['cli', 'functions', 'gate', 'infra', 'runtime', 'tests', 'workers'];
const isCode = (file: string) => /\.(tsx?|mjs|js)$/.test(file);

/** @param root the repository's root */
export function readImportGraph(root: string): ImportGraph {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/node_modules|functions\/console\/dist/.test(entry.parentPath))
      .map((entry) => relative(root, join(entry.parentPath, entry.name))),
  );
  /** From a file, or a folder that ends in `/`, to the files that name it. */
  const users = new Map<string, Set<string>>();
  for (const file of files.filter(isCode)) {
    for (const used of namedPaths(root, file)) users.set(used, (users.get(used) ?? new Set()).add(file));
  }
  return {
    files,
    usersOf: (file) => [...(users.get(file) ?? [])],
    dependentsOf(changed) {
      const dependents = new Set<string>(changed);
      for (const file of dependents) {
        for (const place of [file, ...foldersOf(file)]) for (const user of users.get(place) ?? []) dependents.add(user);
      }
      return dependents;
    },
  };
}

/** The paths in a file's strings: relative to its folder, and relative to the root if they contain a `/`. */
function namedPaths(root: string, file: string): string[] {
  const folder = dirname(file);
  const text = readFileSync(join(root, file), 'utf8').replace(/^import type [^;]*;/gm, '');
  const named = [...text.matchAll(/['"`]([\w@.-]+(?:\/[\w@.-]+)*)\/?['"`]/g)].map(([, path = '']) => path);
  return [...new Set(named)].flatMap((path) => {
    const candidates = [relative(root, resolve(root, folder, path)), ...(path.includes('/') ? [path] : [])];
    return candidates.flatMap((candidate) => {
      // A folder that contains the file itself does not say which files it reads there.
      if (candidate === '' || candidate.startsWith('..') || `${folder}/`.startsWith(`${candidate}/`)) return [];
      const place = join(root, candidate);
      if (!existsSync(place)) return [];
      return [statSync(place).isDirectory() ? `${candidate}/` : candidate];
    });
  });
}

/** `a/b/c.ts` → `a/b/`, `a/`. */
function foldersOf(file: string): string[] {
  const parts = file.split('/').slice(0, -1);
  return parts.map((_, index) => `${parts.slice(0, index + 1).join('/')}/`);
}
