import type { Stats } from 'node:fs';
import { fs } from './builtins.ts';

/** A container's log file by its name: `0.log`, `0.log.20260102-030405` after rotation, then also `….gz`. */
export interface LogFileName {
  /** The name without `.gz`. */
  base: string;
  compressed: boolean;
  /** Orders the files of a container by age. */
  key: string;
}

const nameShape = /^(\d{1,9})\.log(?:\.(\d{8}-\d{6}))?(\.gz)?$/;

/** @returns undefined for files that the kubelet has not completed, and all others */
export function parseLogFileName(name: string): LogFileName | undefined {
  const match = nameShape.exec(name);
  if (!match) return undefined;
  const [, restart = '', rotated = '~', gz] = match;
  if (rotated === '~' && gz !== undefined) return undefined;
  return {
    base: gz === undefined ? name : name.slice(0, -gz.length),
    compressed: gz !== undefined,
    // A file that was not rotated is the newest of its restart, and `~` follows all digits.
    key: `${restart.padStart(9, '0')}.${rotated}`,
  };
}

/** A file that is read from its position on. */
export interface OpenFile {
  fd: number;
  position: number;
  /** Whether the position is within a line of which the first part was read. */
  withinLine: boolean;
}

/** Maximum bytes of a line in a file. Only an unusual runtime writes more than 16 KiB at once. */
const bufferBytes = 128 * 1024;
/** One for all files: what is read is parsed before the next read. */
const buffer = Buffer.alloc(bufferBytes);
const lineBreak = 0x0a;

/** Receives a line as a view that is valid during the call; of a line that is longer than the buffer, its beginning. */
type OnLine = (line: Buffer) => void;

/** Reads the next lines. @returns the bytes by which the position moved; 0 at the end */
export function readLines(file: OpenFile, onLine: OnLine): number {
  const read = fs.readSync(file.fd, buffer, 0, bufferBytes, file.position);
  const chunk = buffer.subarray(0, read);
  let start = 0;
  if (file.withinLine) {
    start = chunk.indexOf(lineBreak) + 1;
    if (start === 0) {
      file.position += read;
      return read;
    }
    file.withinLine = false;
  }
  for (let end = chunk.indexOf(lineBreak, start); end >= 0; end = chunk.indexOf(lineBreak, start)) {
    if (end > start) onLine(chunk.subarray(start, end));
    start = end + 1;
  }
  if (start === 0 && read === bufferBytes) {
    onLine(chunk);
    file.withinLine = true;
    start = read;
  }
  file.position += start;
  return start;
}

/** Reads what follows the last line break of a file that is not written to any more. */
export function readTail(file: OpenFile, onLine: OnLine): void {
  const read = fs.readSync(file.fd, buffer, 0, bufferBytes, file.position);
  if (read > 0 && !file.withinLine) onLine(buffer.subarray(0, read));
  file.position += read;
}

/** Moves over at most `maxBytes` and counts the lines. @returns undefined at the end */
export function countLines(file: OpenFile, maxBytes: number): number | undefined {
  let lines = 0;
  let total = 0;
  while (total < maxBytes) {
    const read = fs.readSync(file.fd, buffer, 0, bufferBytes, file.position);
    if (read === 0) return total === 0 ? undefined : lines;
    const chunk = buffer.subarray(0, read);
    for (let at = chunk.indexOf(lineBreak); at >= 0; at = chunk.indexOf(lineBreak, at + 1)) lines += 1;
    file.position += read;
    total += read;
  }
  return lines;
}

/** The first bytes of a file, which contain the time of its first line and so identify it. */
export function headOf(fd: number): string {
  const read = fs.readSync(fd, buffer, 0, 36, 0);
  return buffer.toString('latin1', 0, read).split(' ', 1)[0] ?? '';
}

/** Opens a regular file, never a link or a pipe. @returns undefined when there is none */
export function openRegular(path: string): { fd: number; stats: Stats } | undefined {
  let fd: number;
  try {
    fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  const stats = fs.fstatSync(fd);
  if (stats.isFile()) return { fd, stats };
  fs.closeSync(fd);
  return undefined;
}
