import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** The resolutions of a ring, in seconds, and how many slots each has: 15 s for 3 h, 1 min for 24 h, 5 min for 3 d. */
export const resolutions = [
  { seconds: 15, slots: 720 },
  { seconds: 60, slots: 1440 },
  { seconds: 300, slots: 864 },
] as const;

export type ResolutionIndex = 0 | 1 | 2;

/** The key's length and text, then the newest slot of each resolution. */
const keyMax = 480;
const keyLengthBytes = 2;
const newestAt = 488;
const headerBytes = 512;
const valueBytes = 8;
const offsets = resolutions.map((_, index) =>
  resolutions.slice(0, index).reduce((sum, { slots }) => sum + slots * valueBytes, headerBytes),
);
/** About 24 KB for each series. */
export const recordBytes = resolutions.reduce((sum, { slots }) => sum + slots * valueBytes, headerBytes);
/** The first bytes of the file. A file of another layout is emptied, since it holds figures of three days only. */
const magic = Buffer.from('svc metrics ring 1\n'.padEnd(64, ' '));

/** A record as the file has it. */
interface StoredRecord {
  record: number;
  key: string;
  /** The newest slot of each resolution. */
  newest: number[];
}

/** Records of equal size on disk, each with the slots of one series. Values of slots are numbers or NaN. */
export interface RingFile {
  /** The records in use. */
  load(): StoredRecord[];
  /** The number of records, used or not. */
  size(): number;
  /** Begins a record; its slots count as empty, because its newest slots are set. @returns false for a key that is too long */
  create(record: number, key: string, newest: readonly number[]): boolean;
  remove(record: number): void;
  writeNewest(record: number, newest: readonly number[]): void;
  /** Writes `values` from a slot on; it may wrap around. */
  write(record: number, resolution: ResolutionIndex, slot: number, values: readonly number[]): void;
  /** The values of `count` slots from a slot on. */
  read(record: number, resolution: ResolutionIndex, slot: number, count: number): Float64Array;
  close(): void;
}

/** Opens or creates the file. */
export function openRingFile(path: string): RingFile {
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, 'a+', 0o600);
  closeSync(file);
  const fd = openSync(path, 'r+');
  const start = Buffer.alloc(magic.length);
  readSync(fd, start, 0, start.length, 0);
  if (!start.equals(magic)) {
    ftruncateSync(fd, 0);
    writeSync(fd, magic, 0, magic.length, 0);
  }
  const positionOf = (record: number) => magic.length + record * recordBytes;
  const size = () => Math.max(0, Math.floor((fstatSync(fd).size - magic.length) / recordBytes));

  /** Splits slots into ranges that do not wrap around. */
  const ranges = (resolution: ResolutionIndex, slot: number, count: number) => {
    const { slots } = resolutions[resolution];
    const first = ((slot % slots) + slots) % slots;
    const head = Math.min(count, slots - first);
    return [
      { index: first, from: 0, count: head },
      { index: 0, from: head, count: count - head },
    ].filter((range) => range.count > 0);
  };
  const slotPosition = (record: number, resolution: ResolutionIndex, index: number) =>
    positionOf(record) + (offsets[resolution] ?? 0) + index * valueBytes;

  /** All writes are synchronous, so they share one buffer: a collection makes thousands. */
  const scratch = Buffer.alloc(Math.max(...resolutions.map(({ slots }) => slots)) * valueBytes);
  const writeValues = (values: readonly number[], position: number) => {
    for (let index = 0; index < values.length; index++) scratch.writeDoubleLE(values[index] ?? NaN, index * valueBytes);
    writeSync(fd, scratch, 0, values.length * valueBytes, position);
  };

  const writeNewest = (record: number, newest: readonly number[]) => {
    writeValues(newest, positionOf(record) + newestAt);
  };

  return {
    size,
    load() {
      const records: StoredRecord[] = [];
      const header = Buffer.alloc(headerBytes);
      for (let record = 0; record < size(); record++) {
        readSync(fd, header, 0, headerBytes, positionOf(record));
        const length = header.readUInt16LE(0);
        if (length === 0 || length > keyMax) continue;
        const key = header.toString('utf8', keyLengthBytes, keyLengthBytes + length);
        const newest = resolutions.map((_, index) => header.readDoubleLE(newestAt + index * valueBytes));
        records.push({ record, key, newest });
      }
      return records;
    },
    create(record, key, newest) {
      const bytes = Buffer.from(key, 'utf8');
      if (bytes.length > keyMax || bytes.length === 0) return false;
      const header = Buffer.alloc(headerBytes);
      header.writeUInt16LE(bytes.length, 0);
      bytes.copy(header, keyLengthBytes);
      newest.forEach((slot, index) => header.writeDoubleLE(slot, newestAt + index * valueBytes));
      // The whole record, so that no value of a former series is left.
      const body = Buffer.from(new Float64Array((recordBytes - headerBytes) / valueBytes).fill(NaN).buffer);
      const whole = Buffer.concat([header, body]);
      writeSync(fd, whole, 0, whole.length, positionOf(record));
      return true;
    },
    remove(record) {
      writeSync(fd, Buffer.alloc(keyLengthBytes), 0, keyLengthBytes, positionOf(record));
    },
    writeNewest,
    write(record, resolution, slot, values) {
      for (const { index, from, count } of ranges(resolution, slot, values.length)) {
        const part = count === values.length ? values : values.slice(from, from + count);
        writeValues(part, slotPosition(record, resolution, index));
      }
    },
    read(record, resolution, slot, count) {
      const values = new Float64Array(count).fill(NaN);
      const bytes = Buffer.from(values.buffer);
      for (const { index, from, count: length } of ranges(resolution, slot, count)) {
        readSync(fd, bytes, from * valueBytes, length * valueBytes, slotPosition(record, resolution, index));
      }
      return values;
    },
    close: () => closeSync(fd),
  };
}
