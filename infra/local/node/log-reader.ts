import { closeSync, fstatSync, openSync, read, statSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { LogWatch } from './log-watch.ts';
import { logFileOf, runsWithLogs } from './logs.ts';

const readFrom = promisify(read);

const chunkBytes = 64 * 1024;
/** Pause of a follower after each reading, so that a program that prints continuously is read in larger pieces. */
const pauseMs = 50;
const newline = 0x0a;

/** Options of {@link readLog}, named as in the API. */
export interface LogOptions {
  follow?: boolean;
  /** Reads the log of the previous run. */
  previous?: boolean;
  tailLines?: number;
  since?: Date;
  timestamps?: boolean;
}

/**
 * The lines of a container's newest log, in pieces of whole lines. A followed log ends when the run ends. What was read is
 * not read again: after the first piece, a follower reads what was appended, through rotations.
 */
export async function* readLog(
  folder: string,
  { follow = false, previous = false, tailLines, since, timestamps = false }: LogOptions,
  { clock, signal, watch }: { clock: Clock; signal: AbortSignal; watch: LogWatch },
): AsyncGenerator<string> {
  const run = (await runsWithLogs(folder))[previous ? 1 : 0];
  if (run === undefined) return;
  const file = logFileOf(folder, run);
  let changed = Promise.withResolvers<void>();
  const wake = () => changed.resolve();
  const unfollow = follow ? watch.follow(file, wake) : () => undefined;
  signal.addEventListener('abort', wake, { once: true });
  const log = openLog(file);
  try {
    if (tailLines !== undefined) await log.skipTo(tailLines);
    for (;;) {
      // Before reading, so that nothing is missed that is written meanwhile, nor before the end.
      const isOpen = follow && watch.isOpen(file);
      changed = Promise.withResolvers();
      for await (const lines of log.read()) {
        const text = formatLines(lines, since, timestamps);
        if (text !== '') yield text;
        if (signal.aborted) return;
      }
      if (!isOpen || signal.aborted) return;
      await clock.sleep(pauseMs, signal).catch(() => undefined);
      await changed.promise;
    }
  } finally {
    unfollow();
    signal.removeEventListener('abort', wake);
    log.close();
  }
}

/** The last lines of a run's log, at most `bytes`, for the termination message. */
export async function readLogTail(folder: string, run: number, bytes = 2048): Promise<string> {
  const log = openLog(logFileOf(folder, run));
  try {
    await log.skipTo(80);
    let text = '';
    for await (const lines of log.read()) text += formatLines(lines, undefined, false);
    return Buffer.from(text.slice(0, -1)).subarray(-bytes).toString('utf8');
  } finally {
    log.close();
  }
}

/** @param lines whole lines as in the file */
function formatLines(lines: Buffer, since: Date | undefined, timestamps: boolean): string {
  const text = lines.toString('utf8');
  if (timestamps && since === undefined) return text;
  // The times in a log are of one form, so that they can be compared as text.
  const from = since?.toISOString() ?? '';
  return text
    .split('\n')
    .filter((line) => line !== '' && line >= from)
    .map((line) => `${timestamps ? line : line.slice(line.indexOf(' ') + 1)}\n`)
    .join('');
}

interface OpenFile {
  descriptor: number;
  inode: number;
  position: number;
  /** The beginning of a line whose end is not written yet. */
  rest: Buffer;
  /** Whether a newer file exists, so that nothing is appended to this one. */
  complete: boolean;
}

/** Opens the files of a run's log. A reader that is slower than two rotations misses what was in between. */
function openLog(file: string) {
  const newestFirst = [file, `${file}.1`];
  /**
   * The files that are newer than the one with `inode`, oldest first. In one turn, because the writer, which is in this
   * process, can rotate the log in between.
   */
  const openNewer = (inode?: number): OpenFile[] => {
    const files: OpenFile[] = [];
    for (const path of newestFirst) {
      const opened = openFile(path);
      if (!opened) continue;
      if (opened.inode === inode) {
        closeSync(opened.descriptor);
        break;
      }
      files.unshift(opened);
    }
    return files;
  };
  let files = openNewer();

  const release = (released: readonly OpenFile[]) => {
    files = files.filter((each) => !released.includes(each));
    for (const { descriptor } of released) closeSync(descriptor);
  };

  return {
    /** Skips all but the last lines. */
    async skipTo(lines: number): Promise<void> {
      let missing = lines;
      for (const current of files.toReversed()) {
        const { position, count } = await findTail(current.descriptor, missing);
        current.position = position;
        missing -= count;
        if (missing > 0) continue;
        release(files.slice(0, files.indexOf(current)));
        return;
      }
    },
    /** What was appended, in pieces of whole lines, up to the end. */
    async *read(): AsyncGenerator<Buffer> {
      for (;;) {
        const [current] = files;
        if (!current) return;
        const { descriptor, position, rest } = current;
        const buffer = Buffer.allocUnsafe(chunkBytes);
        const { bytesRead } = await readFrom(descriptor, buffer, 0, chunkBytes, position);
        if (bytesRead > 0) {
          current.position += bytesRead;
          const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
          const end = bytes.lastIndexOf(newline) + 1;
          current.rest = Buffer.from(bytes.subarray(end));
          if (end > 0) yield bytes.subarray(0, end);
        } else if (current.complete) release([current]);
        else {
          if (files.length === 1 && isRotated(file, current)) files.push(...openNewer(current.inode));
          if (files.length === 1) return;
          // The next pass reads it again: it may have grown before it was rotated.
          current.complete = true;
        }
      }
    },
    close: () => release(files),
  };
}

function openFile(path: string): OpenFile | undefined {
  try {
    const descriptor = openSync(path, 'r');
    return { descriptor, inode: fstatSync(descriptor).ino, position: 0, rest: Buffer.alloc(0), complete: false };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether another file has the name of a log. A deleted log has none. */
function isRotated(path: string, { inode }: OpenFile): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && stats.ino !== inode;
}

/** The position of the last lines of a file, and how many of `lines` it has. */
async function findTail(descriptor: number, lines: number): Promise<{ position: number; count: number }> {
  let ends = 0;
  const buffer = Buffer.allocUnsafe(chunkBytes);
  for (let end = fstatSync(descriptor).size; end > 0;) {
    const start = Math.max(0, end - chunkBytes);
    const { bytesRead } = await readFrom(descriptor, buffer, 0, end - start, start);
    const chunk = buffer.subarray(0, bytesRead);
    for (let at = chunk.lastIndexOf(newline); at >= 0; at = at === 0 ? -1 : chunk.lastIndexOf(newline, at - 1)) {
      // The last line end belongs to the last line.
      if (ends === lines) return { position: start + at + 1, count: lines };
      ends += 1;
    }
    end = start;
  }
  return { position: 0, count: ends };
}
