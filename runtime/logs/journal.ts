import { open, readFile, type FileHandle } from 'node:fs/promises';
import { crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Disk } from './disk.ts';
import { BatchTooLarge } from './log-store.ts';
import type { LogRecord } from './record.ts';

const mark = 0x4a4c5653;
const headerLength = 16;
/** Maximum bytes of an entry before compression. Earlier versions wrote larger ones, which are read up to a higher limit. */
const entryMaxBytes = 64 * 1024 * 1024;
const readMaxBytes = 256 * 1024 * 1024;

/** What the store accepted at once. */
export interface JournalEntry {
  /** The id of the first line; the others follow. */
  first: number;
  /** Who sent it, and its number; absent for lines that were added in this process. */
  shipper?: { name: string; sequence: number } | undefined;
  records: readonly LogRecord[];
}

/** The batches since the last flush, so that an end of the process loses none. */
export interface Journal {
  /** Bytes of the file. */
  size(): number;
  /** @throws Error when the entry is not stored, BatchTooLarge if it never can be; the journal is then as before */
  append(entry: JournalEntry): Promise<void>;
  close(): Promise<void>;
}

/** Opens a new journal. @param options.sync waits until the disk has stored an entry */
export async function openJournal(path: string, { sync, disk }: { sync: boolean; disk: Disk }): Promise<Journal> {
  const file: FileHandle = await open(path, 'a', 0o600);
  let size = 0;
  let damaged = false;
  return {
    size: () => size,
    async append(entry) {
      // The last write failed, and what it had written could not be removed.
      if (damaged) {
        await file.truncate(size);
        damaged = false;
      }
      const bytes = encodeEntry(entry);
      try {
        await disk.append(file, bytes);
        if (sync) await file.datasync();
      } catch (error) {
        await file.truncate(size).catch(() => (damaged = true));
        throw error;
      }
      size += bytes.length;
    },
    close: () => file.close(),
  };
}

/**
 * The entries of a journal. Stops at the first that is not complete: its batch was never acknowledged.
 * @param onUnreadable called with the error of an entry that is complete but cannot be read; it is left out
 */
export async function readJournal(path: string, onUnreadable: (error: unknown) => void): Promise<JournalEntry[]> {
  const bytes = await readFile(path);
  const entries: JournalEntry[] = [];
  let offset = 0;
  while (offset + headerLength <= bytes.length) {
    const end = offset + headerLength + bytes.readUInt32LE(offset + 8);
    if (bytes.readUInt32LE(offset) !== mark || end > bytes.length) break;
    const data = bytes.subarray(offset + headerLength, end);
    if (crc32(data) !== bytes.readUInt32LE(offset + 4)) break;
    try {
      entries.push(JSON.parse(zstdDecompressSync(data, { maxOutputLength: readMaxBytes }).toString()) as JournalEntry);
    } catch (error) {
      onUnreadable(error);
    }
    offset = end;
  }
  return entries;
}

function encodeEntry(entry: JournalEntry): Buffer {
  const text = Buffer.from(JSON.stringify(entry));
  if (text.length > entryMaxBytes) throw new BatchTooLarge('the batch is too large');
  const data = zstdCompressSync(text);
  const header = Buffer.alloc(headerLength);
  header.writeUInt32LE(mark, 0);
  header.writeUInt32LE(crc32(data), 4);
  header.writeUInt32LE(data.length, 8);
  return Buffer.concat([header, data]);
}

/**
 * The ids of the first and the last line of a journal. They come from the entries: a state that was written while a journal
 * was flushed counts lines of the following one, too.
 * @param next the id of the first line when there are no entries
 */
export function idsOf(entries: readonly JournalEntry[], next: number): { first: number; last: number } {
  const [oldest, newest] = [entries[0], entries.at(-1)];
  return { first: oldest?.first ?? next, last: (newest ? newest.first + newest.records.length : next) - 1 };
}
