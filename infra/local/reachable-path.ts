import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, join, relative } from 'node:path';
import { findClosedAncestor } from './folder-permissions.ts';

/** The record that npm keeps of an installation. */
const lockFile = '.package-lock.json';

/**
 * A path that pods with users of their own can read: the path itself, or a copy of it if a parent of it is closed to
 * others, such as /root. Copies are renewed when the original changes. Of a `node_modules` folder, only what production
 * needs is copied.
 * @param copies the folder for copies
 */
export function reachablePath(path: string, copies: string): string {
  const original = realpathSync(path);
  if (process.getuid?.() !== 0 || findClosedAncestor(original) === undefined) return path;
  const name = basename(original);
  const prefix = `${digest(original)}-`;
  const version = `${prefix}${versionOf(original)}`;
  // The name stays, since Node.js looks for packages in folders named node_modules.
  const copy = join(copies, version, name);
  if (existsSync(copy)) return copy;
  mkdirSync(copies, { recursive: true });
  const outdated = readdirSync(copies).filter((entry) => entry.startsWith(prefix));
  const part = join(copies, `${prefix}part`);
  rmSync(part, { recursive: true, force: true });
  const unneeded = developmentPackages(original);
  mkdirSync(part, { recursive: true });
  cpSync(original, join(part, name), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !unneeded.has(relative(original, source)),
  });
  renameSync(part, join(copies, version));
  for (const entry of outdated) rmSync(join(copies, entry), { recursive: true, force: true });
  return copy;
}

function versionOf(path: string): string {
  const { mtimeMs, size } = statSync(path);
  const lock = join(path, lockFile);
  const content = existsSync(lock) ? readFileSync(lock) : `${path} ${mtimeMs} ${size}`;
  return digest(content);
}

function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 12);
}

/** The packages of a `node_modules` folder that only development needs, as paths in it. */
function developmentPackages(folder: string): Set<string> {
  const lock = join(folder, lockFile);
  if (!existsSync(lock)) return new Set();
  const { packages } = JSON.parse(readFileSync(lock, 'utf8')) as { packages: Record<string, { dev?: boolean }> };
  const paths = Object.entries(packages).flatMap(([path, { dev }]) => (dev ? [path.replace('node_modules/', '')] : []));
  return new Set(paths);
}
