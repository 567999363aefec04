import type { Dirent } from 'node:fs';
import { fs } from './builtins.ts';

/** The file system's times are coarse, so a folder that changed this recently may change again without a new time. */
const settledMs = 2_000;

/** A folder whose entries are read again only after a change. */
export interface WatchedFolder {
  /** `unchanged` since the last call, unless it is forced; `missing` also for a link to a folder. */
  entries(force?: boolean): Dirent[] | 'unchanged' | 'missing';
}

export function watchFolder(path: string, now: () => number = Date.now): WatchedFolder {
  let seen: { time: number; inode: number; settled: boolean } | undefined;
  return {
    entries(force = false) {
      try {
        const stats = fs.lstatSync(path);
        if (!stats.isDirectory()) return 'missing';
        if (!force && seen?.settled && seen.time === stats.mtimeMs && seen.inode === stats.ino) return 'unchanged';
        const settled = Math.abs(now() - stats.mtimeMs) > settledMs;
        const entries = fs.readdirSync(path, { withFileTypes: true });
        seen = { time: stats.mtimeMs, inode: stats.ino, settled };
        return entries;
      } catch {
        return 'missing';
      }
    },
  };
}
