import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { SegmentKey } from './segment-index.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Maximum records and bytes on disk; beyond them, the oldest are deleted. */
const recordsMax = 10_000;
const bytesMax = 64 * 1024 * 1024;

/** The lines of one flush in one segment. */
export interface FlushPart extends SegmentKey {
  count: number;
  /** The highest id of its lines. */
  last: number;
}

/** Which ids a flush wrote. They follow those of the flush before it. */
export interface FlushHead {
  generation: number;
  first: number;
  last: number;
  /** When it was written, in ms since 1970. */
  at: number;
}

interface StoredHead extends FlushHead {
  file: string;
  bytes: number;
}

/** Remembers which flush wrote which segments, so that lines can be read in the order in which they were accepted. */
export interface FlushLog {
  load(): Promise<void>;
  add(head: FlushHead, parts: readonly FlushPart[]): Promise<void>;
  /** The first flush that has lines after an id. */
  after(id: number): FlushHead | undefined;
  /** The segments of a flush; undefined for a flush that is no longer recorded. */
  parts(head: FlushHead): Promise<FlushPart[] | undefined>;
  /** Deletes the records before a time, in ms since 1970. */
  clean(before: number): Promise<void>;
}

export function createFlushLog(folder: string): FlushLog {
  /** Sorted by generation. */
  let heads: StoredHead[] = [];

  const remove = async (count: number) => {
    for (const { file } of heads.splice(0, count)) await rm(join(folder, file), { force: true });
  };
  const limit = async () => {
    let bytes = heads.reduce((sum, head) => sum + head.bytes, 0);
    let count = Math.max(0, heads.length - recordsMax);
    for (const head of heads.slice(0, count)) bytes -= head.bytes;
    for (; bytes > bytesMax && count < heads.length - 1; count++) bytes -= heads[count]?.bytes ?? 0;
    await remove(count);
  };

  return {
    async load() {
      const files = await readdir(folder).catch(() => []);
      heads = files.flatMap((file) => parseName(file) ?? []).toSorted((a, b) => a.generation - b.generation);
    },
    async add(head, parts) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const data = await compress(Buffer.from(JSON.stringify(parts.map(toRow))));
      const { generation, first, last, at } = head;
      const file = `${generation}-${first}-${last}-${at}-${data.length}`;
      await writeFile(join(folder, 'new'), data, { mode: 0o600 });
      await rename(join(folder, 'new'), join(folder, file));
      // A flush that is repeated after a kill replaces its record.
      for (const old of heads.filter((each) => each.generation >= generation && each.file !== file)) {
        await rm(join(folder, old.file), { force: true });
      }
      heads = [...heads.filter((each) => each.generation < generation), { ...head, file, bytes: data.length }];
      await limit();
    },
    after: (id) => heads.find(({ last }) => last > id),
    async parts({ generation }) {
      const head = heads.find((each) => each.generation === generation);
      if (!head) return undefined;
      try {
        const data = await decompress(await readFile(join(folder, head.file)), { maxOutputLength: bytesMax });
        return (JSON.parse(data.toString()) as Row[]).map(fromRow);
      } catch {
        // Deleted meanwhile, or damaged when the machine lost its power.
        return undefined;
      }
    },
    async clean(before) {
      const kept = heads.findIndex(({ at }) => at >= before);
      await remove(kept < 0 ? heads.length : kept);
    },
  };
}

function parseName(file: string): StoredHead | undefined {
  if (!/^\d{1,16}(-\d{1,16}){4}$/.test(file)) return undefined;
  const [generation = 0, first = 0, last = 0, at = 0, bytes = 0] = file.split('-').map(Number);
  return { generation, first, last, at, file, bytes };
}

type Row = [string, FlushPart['kind'], string, string, number, number];

function toRow({ namespace, kind, name, hour, count, last }: FlushPart): Row {
  return [namespace, kind, name, hour, count, last];
}

function fromRow([namespace, kind, name, hour, count, last]: Row): FlushPart {
  return { namespace, kind, name, hour, count, last };
}
