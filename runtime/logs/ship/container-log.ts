import { join } from 'node:path';
import { fs } from './builtins.ts';
import { parseCriLine } from './cri-line.ts';
import { watchFolder } from './folder.ts';
import { createLineJoiner, type JoinedLine, type PendingBudget, type PendingLine } from './line-joiner.ts';
import {
  countLines,
  headOf,
  openRegular,
  parseLogFileName,
  readLines,
  readTail,
  type LogFileName,
  type OpenFile,
} from './log-file.ts';

/** After a rotation, the runtime may still write to the old file for this long. */
const rotationMs = 5_000;
/** Maximum files of a container that wait to be read. The kubelet keeps five. */
const filesMax = 8;
/** Bytes whose lines are counted at once when a file is left out. */
const countBytes = 16 * 1024 * 1024;

/** The position in one file, in the state on disk. */
interface FileState {
  name: string;
  inode: number;
  position: number;
  head: string;
  withinLine?: true;
}

/** The positions of one container, in the state on disk. */
export interface ContainerState {
  /** The key of the newest file that was read to its end, see {@link LogFileName}. */
  finished: string;
  files: FileState[];
  pending: PendingLine[];
}

/** What a container's log reports. */
export interface ContainerEvents {
  line(line: JoinedLine): void;
  /** Lines that are not shipped: of a file that was left out, or in another format. */
  dropped(lines: number, reason: 'too_fast' | 'malformed'): void;
  /** A file was deleted before it was read to its end; the number of its lines is unknown. */
  lost(): void;
  /** Unpacks a compressed file to an open file without a name. */
  unpack(path: string): Promise<number>;
}

/** Reads the log files of one container, through rotations and restarts. */
export interface ContainerLog {
  /** Looks for new, renamed and deleted files. */
  scan(): void;
  /** Reads about `maxBytes`. @returns the bytes read; 0 when there is nothing more @param now a monotonic time */
  read(maxBytes: number, now: number): number;
  /** Whether the folder was deleted and everything was read. */
  ended(): boolean;
  state(): ContainerState;
  /** Bytes of the files that were not read yet. */
  unread(): number;
  close(): void;
}

interface Followed extends OpenFile {
  name: string;
  key: string;
  inode: number;
  head: string;
  /** A compressed file is read once it is unpacked. */
  packed?: 'waiting' | 'unpacking' | 'failed';
  /** Since when the end is known, while a newer file exists. */
  endSince?: number | undefined;
  leaveOut?: boolean;
  /** Nothing is written to it. */
  complete?: boolean;
}

export interface ContainerLogOptions {
  folder: string;
  namespace: string;
  budget: PendingBudget;
  events: ContainerEvents;
  state?: ContainerState | undefined;
  /** A monotonic time. */
  now: number;
}

const closed = -1;

export function createContainerLog({
  folder,
  namespace,
  budget,
  events,
  state,
  now,
}: ContainerLogOptions): ContainerLog {
  const watched = watchFolder(folder);
  const joiner = createLineJoiner(namespace, budget);
  joiner.restore(state?.pending ?? [], now);
  let finished = state?.finished ?? '';
  let files: Followed[] = (state?.files ?? []).flatMap((file) => {
    const name = parseLogFileName(file.name);
    return name ? [{ ...file, key: name.key, fd: closed, withinLine: file.withinLine === true }] : [];
  });
  let deleted = false;
  let rescan = false;

  const deliver = (at: number) => (bytes: Buffer) => {
    const line = parseCriLine(bytes, 0, bytes.length);
    if (!line) {
      events.dropped(1, 'malformed');
      return;
    }
    const complete = joiner.add(line, at);
    if (complete) events.line(complete);
  };

  const release = (file: Followed) => {
    if (file.fd !== closed) fs.closeSync(file.fd);
    file.fd = closed;
  };
  const finish = (file: Followed) => {
    release(file);
    files = files.filter((other) => other !== file);
    if (file.key > finished) finished = file.key;
  };

  /** Opens a file that the folder lists. @returns whether it is the same file as in the state */
  const open = (file: Followed): boolean => {
    const opened = openRegular(join(folder, file.name));
    if (!opened) return false;
    const { fd, stats } = opened;
    const head = headOf(fd);
    const same = stats.ino === file.inode && stats.size >= file.position && (file.head === '' || head === file.head);
    if (!same) {
      fs.closeSync(fd);
      return false;
    }
    file.fd = fd;
    file.head = head;
    return true;
  };

  /** The oldest compressed file that may be one that was rotated unseen. */
  const compressedOf = (file: Followed, compressed: readonly LogFileName[]) =>
    compressed.find(({ key }) => key > finished && key <= file.key && !files.some((other) => other.key === key)) ??
    compressed.find(({ key }) => key === file.key);

  const recognise = (file: Followed, listed: Map<number, LogFileName>, compressed: readonly LogFileName[]) => {
    const current = listed.get(file.inode);
    if (current && (file.fd !== closed || open(Object.assign(file, { name: current.base })))) {
      Object.assign(file, { name: current.base, key: current.key });
      listed.delete(file.inode);
      return;
    }
    const packed = compressedOf(file, compressed);
    if (file.fd !== closed) {
      // It was deleted, but stays readable while it is open.
      if (packed) Object.assign(file, { name: packed.base, key: packed.key });
      return;
    }
    if (packed) {
      Object.assign(file, { name: packed.base, key: packed.key, packed: 'waiting' });
      return;
    }
    events.lost();
    files = files.filter((other) => other !== file);
  };

  const add = (name: LogFileName, inode: number) => {
    if (name.key <= finished || files.some(({ key }) => key === name.key)) return;
    const file: Followed = {
      name: name.base,
      key: name.key,
      inode,
      head: '',
      position: 0,
      withinLine: false,
      fd: closed,
    };
    if (name.compressed) file.packed = 'waiting';
    else if (!open(file)) {
      rescan = true;
      return;
    }
    files.push(file);
  };

  const scan = () => {
    const entries = watched.entries(rescan);
    if (entries === 'missing') {
      deleted = true;
      // Files that were never opened are gone.
      for (const file of files.filter(({ fd }) => fd === closed)) {
        events.lost();
        finish(file);
      }
      return;
    }
    if (entries === 'unchanged') return;
    deleted = false;
    rescan = false;
    const listed = new Map<number, LogFileName>();
    const compressed: LogFileName[] = [];
    for (const entry of entries) {
      const name = entry.isFile() ? parseLogFileName(entry.name) : undefined;
      if (!name) continue;
      if (name.compressed) compressed.push(name);
      else {
        const opened = openRegular(join(folder, entry.name));
        if (!opened) continue;
        listed.set(opened.stats.ino, name);
        fs.closeSync(opened.fd);
      }
    }
    compressed.sort((a, b) => (a.key < b.key ? -1 : 1));
    for (const file of files.filter(({ packed }) => packed === undefined)) recognise(file, listed, compressed);
    for (const name of compressed) add(name, 0);
    for (const [inode, name] of listed) add(name, inode);
    files.sort((a, b) => (a.key < b.key ? -1 : 1));
    for (const file of files.slice(0, Math.max(files.length - filesMax, 0))) file.leaveOut = true;
  };

  const unpack = async (file: Followed) => {
    file.packed = 'unpacking';
    let fd: number;
    try {
      fd = await events.unpack(join(folder, `${file.name}.gz`));
    } catch {
      file.packed = 'failed';
      return;
    }
    if (!files.includes(file)) {
      fs.closeSync(fd);
      return;
    }
    const head = headOf(fd);
    // Another file than the one of the state: it is read from its beginning.
    if (file.head !== '' && head !== file.head) Object.assign(file, { position: 0, withinLine: false });
    Object.assign(file, { fd, head, inode: 0, complete: true });
    delete file.packed;
  };

  /** Ends a file that was read to its end, once nothing is written to it any more. */
  const atEnd = (file: Followed, now: number) => {
    if (file === files.at(-1) && !deleted) return;
    file.endSince ??= now;
    if (!deleted && !file.complete && now - file.endSince < rotationMs) return;
    readTail(file, deliver(now));
    finish(file);
  };

  const readFile = (file: Followed, maxBytes: number, now: number): number => {
    if (file.packed === 'waiting') void unpack(file);
    if (file.packed === 'failed') {
      events.lost();
      finish(file);
    }
    if (file.fd === closed) return 0;
    if (file.leaveOut) {
      const lines = countLines(file, countBytes);
      if (lines === undefined) finish(file);
      else if (lines > 0) events.dropped(lines, 'too_fast');
      return 0;
    }
    let total = 0;
    while (total < maxBytes) {
      const bytes = readLines(file, deliver(now));
      if (bytes === 0) {
        if (file.head === '' && file.position > 0) file.head = headOf(file.fd);
        atEnd(file, now);
        return total;
      }
      file.endSince = undefined;
      total += bytes;
    }
    return total;
  };

  return {
    scan,
    read(maxBytes, now) {
      let total = 0;
      for (const file of [...files]) {
        try {
          total += readFile(file, maxBytes - total, now);
        } catch {
          // A file that the disk cannot read must not stop the others.
          events.lost();
          finish(file);
        }
        // Its lines come first.
        if (file.packed !== undefined || total >= maxBytes) break;
      }
      for (const line of joiner.expire(now, deleted && files.length === 0)) events.line(line);
      return total;
    },
    ended: () => deleted && files.length === 0,
    state: () => ({
      finished,
      files: files.map(({ name, inode, position, head, withinLine }) => ({
        name,
        inode,
        position,
        head,
        ...(withinLine && { withinLine }),
      })),
      pending: joiner.pending(),
    }),
    unread: () =>
      files.reduce(
        (sum, { fd, position }) => sum + (fd === closed ? 0 : Math.max(fs.fstatSync(fd).size - position, 0)),
        0,
      ),
    close() {
      for (const file of files) release(file);
    },
  };
}
