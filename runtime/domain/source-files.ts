import { posix } from 'node:path';
import { Problem } from './problem.ts';

/** The files of a folder that was uploaded to build an app from, and where their content is stored. */
export interface SourceFile {
  /** The path in the folder, with `/` between its parts. */
  path: string;
  /** `link`: a symbolic link. */
  kind: 'file' | 'program' | 'link';
  /** The SHA-256 digests of the content's chunks, in order: none for an empty file or a link. */
  chunks: string[];
  /** The content's length in bytes; 0 for a link. */
  size: number;
  /** Where a link leads, relative to its own folder. */
  target?: string | undefined;
}

const mebibyte = 1024 * 1024;

/** Length of every chunk of a file except its last one, in bytes. */
export const chunkBytes = mebibyte;

/** What one uploaded folder may have. */
export const sourceLimits = {
  files: 10_000,
  /** All files together, in bytes. */
  bytes: 500 * mebibyte,
  /** A path or the target of a link, in bytes of UTF-8; a part of it, as file systems allow. */
  pathBytes: 1_000,
  partBytes: 255,
} as const;

/** How many bytes of chunks are stored. */
export const storeLimits = {
  /** Of one project: the largest folder twice. */
  project: 1024 * mebibyte,
  /** Of all projects: less than half of the database's volume. */
  total: 2048 * mebibyte,
} as const;

/** What a chunk takes besides its content, so that a million empty ones also reach the limits. */
export const chunkOverheadBytes = 512;

/** Chunks in one request for those that are missing. */
export const digestsMax = 5_000;
/** Chunks in one request that stores them. */
export const storedChunksMax = 500;

/** Why a path cannot be the path of an uploaded file; undefined for one that can. Pure. */
export function pathFault(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (!path.isWellFormed()) return 'is not valid UTF-8';
  if (/\p{Cc}/u.test(path)) return 'contains a control character';
  if (path.includes('\\')) return 'contains a backslash';
  if (Buffer.byteLength(path) > sourceLimits.pathBytes) return `is longer than ${sourceLimits.pathBytes} bytes`;
  if (path.startsWith('/')) return 'is absolute';
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'contains "", "." or ".." as a part';
  if (parts.some((part) => Buffer.byteLength(part) > sourceLimits.partBytes)) {
    return `has a part longer than ${sourceLimits.partBytes} bytes`;
  }
  return undefined;
}

/**
 * Why a link is not accepted: it must be relative and stay in the folder. Only its first parts may be `..`: after the name of
 * another link, they would lead somewhere else than they say. Pure.
 */
export function linkFault(path: string, target: string): string | undefined {
  if (target === '') return 'leads nowhere';
  if (!target.isWellFormed() || /\p{Cc}|\\/u.test(target)) return 'leads to a path that is not allowed';
  if (Buffer.byteLength(target) > sourceLimits.pathBytes) return `is longer than ${sourceLimits.pathBytes} bytes`;
  if (target.startsWith('/')) return `leads to the absolute path ${target}`;
  const plain = target.replace(/\/$/, '');
  if (posix.normalize(plain) !== plain) return `leads to ${target}, which is not in its shortest form`;
  const end = posix.join(posix.dirname(path), plain);
  return end === '..' || end.startsWith('../') ? `leads out of the folder, to ${target}` : undefined;
}

/**
 * Checks the files of a folder: their paths, links, sizes and number, and that none lies below another file or a link.
 * @throws Problem `invalid_source` that names the path
 */
export function checkSourceFiles(files: readonly SourceFile[]): void {
  if (files.length === 0) throw invalid('The folder has no files to build.', undefined);
  if (files.length > sourceLimits.files) throw tooManyFiles();
  const paths = new Set<string>();
  let bytes = 0;
  for (const { path, kind, size, chunks, target } of files) {
    const fault =
      pathFault(path) ??
      (kind === 'link' ? linkFault(path, target ?? '') : undefined) ??
      (kind === 'link' && size > 0 ? 'is a link with content' : undefined) ??
      (kind !== 'link' && target !== undefined ? 'is a file with a target' : undefined) ??
      (chunks.length !== Math.ceil(size / chunkBytes) ? 'has a size that its chunks do not have' : undefined) ??
      (paths.has(path) ? 'appears twice' : undefined);
    if (fault !== undefined) throw invalid(`The path ${excerpt(path)} ${fault}.`, path);
    paths.add(path);
    bytes += size;
  }
  if (bytes > sourceLimits.bytes) throw tooLarge();
  for (const { path } of files) {
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) {
      if (paths.has(folder)) throw invalid(`The path ${excerpt(path)} lies below ${excerpt(folder)}, a file.`, path);
    }
  }
}

/** 413 for a folder with too many files. */
export function tooManyFiles(): Problem {
  return new Problem(
    'source_too_large',
    `The folder has more than ${sourceLimits.files} files. Exclude what the build does not need in .svcignore.`,
    { details: { limit: sourceLimits.files } },
  );
}

/** 413 for a folder whose files are too large together. */
export function tooLarge(): Problem {
  const limit = sourceLimits.bytes;
  return new Problem(
    'source_too_large',
    `The files of the folder have more than ${limit / mebibyte} MiB. Exclude what the build does not need in .svcignore.`,
    { details: { limit } },
  );
}

function invalid(message: string, path: string | undefined): Problem {
  return new Problem('invalid_source', message, path === undefined ? {} : { details: { path: path.slice(0, 200) } });
}

/** A path as a message quotes it. */
function excerpt(path: string): string {
  return JSON.stringify(path.length > 100 ? `${path.slice(0, 99)}…` : path);
}
