import { join } from 'node:path';
import { fs } from './builtins.ts';

/** A file takes at least a block of the disk. */
const blockBytes = 4096;

/** Lines of one namespace that wait to be sent: one file with compressed NDJSON. */
export interface Batch {
  /** Unique, and the order of the batches. Parts of a batch have its id with letters behind. */
  id: string;
  namespace: string;
  lines: number;
  /** Bytes before compression. */
  raw: number;
  /** Bytes of the file. */
  bytes: number;
  /** Milliseconds since 1970 at which it was written. */
  time: number;
}

/** The content of a new batch. */
export interface BatchContent {
  namespace: string;
  lines: number;
  raw: number;
  content: Buffer;
}

/** The batches on disk. */
export interface Spool {
  /** Writes batches, which count once they are published. @throws Error when the disk is full */
  stage(batches: readonly BatchContent[]): void;
  /** Makes the staged batches ready to be sent, once the positions after them are on disk. */
  publish(): void;
  /** Deletes the staged batches. */
  discard(): void;
  /** The oldest batches of all namespaces in turn, of at most `maxRaw` bytes, but at least one. */
  take(maxRaw: number): Batch[];
  find(id: string): Batch | undefined;
  read(batch: Batch): Buffer;
  remove(batch: Batch): void;
  /** Puts parts of a batch in its place. */
  replace(batch: Batch, parts: readonly BatchContent[]): Batch[];
  /** Batches that are being sent are not dropped. */
  hold(batches: readonly Batch[]): void;
  /** The number of the last batch. */
  last(): number;
  usage(): { batches: number; lines: number; bytes: number; oldest: number | undefined };
}

export interface SpoolOptions {
  folder: string;
  maxBytes: number;
  /** The number of the last batch that the stored positions include. Later ones are read again from the logs. */
  last: number;
  dropped: (namespace: string, lines: number) => void;
  now: () => number;
}

/** Digits of the id of a batch that is not a part. */
export const batchIdLength = 12;
const nameShape = /^((\d{12})[a-z]*)~([a-z0-9-]{1,63})~(\d{1,9})~(\d{1,10})~(\d{1,15})~(\d{1,10})\.gz$/;

function fileName({ id, namespace, lines, raw, time, bytes }: Batch): string {
  return `${id}~${namespace}~${lines}~${raw}~${time}~${bytes}.gz`;
}

function costOf({ bytes }: Batch): number {
  return Math.ceil(bytes / blockBytes) * blockBytes;
}

export function createSpool({ folder, maxBytes, last, dropped, now }: SpoolOptions): Spool {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  /** Oldest first. */
  const namespaces = new Map<string, { batches: Batch[]; cost: number }>();
  let held: readonly Batch[] = [];
  let staged: Batch[] = [];
  let counter = last;
  let total = 0;

  const insert = (batch: Batch) => {
    const queue = namespaces.get(batch.namespace) ?? { batches: [], cost: 0 };
    namespaces.set(batch.namespace, queue);
    queue.batches.push(batch);
    queue.cost += costOf(batch);
    total += costOf(batch);
  };
  const pathOf = (batch: Batch) => join(folder, fileName(batch));
  const remove = (batch: Batch) => {
    fs.rmSync(pathOf(batch), { force: true });
    const queue = namespaces.get(batch.namespace);
    const index = queue?.batches.findIndex(({ id }) => id === batch.id) ?? -1;
    if (!queue || index < 0) return;
    queue.batches.splice(index, 1);
    queue.cost -= costOf(batch);
    total -= costOf(batch);
    if (queue.batches.length === 0) namespaces.delete(batch.namespace);
  };
  const write = (id: string, { namespace, lines, raw, content }: BatchContent, time: number): Batch => {
    const batch: Batch = { id, namespace, lines, raw, bytes: content.length, time };
    fs.writeFileSync(pathOf(batch), content, { mode: 0o600 });
    return batch;
  };

  /** Drops the oldest batch of the namespace that takes most, until the rest fits. */
  const shrink = () => {
    for (;;) {
      if (total <= maxBytes) return;
      let largest: { batches: Batch[]; cost: number } | undefined;
      for (const queue of namespaces.values()) if (!largest || queue.cost > largest.cost) largest = queue;
      const oldest = largest?.batches.find((batch) => !held.includes(batch));
      if (!oldest) return;
      remove(oldest);
      dropped(oldest.namespace, oldest.lines);
    }
  };

  const load = () => {
    const batches: Batch[] = [];
    const files = fs.readdirSync(folder).map((name) => ({ name, match: nameShape.exec(name) ?? [] }));
    // A batch comes before its parts.
    files.sort((a, b) => ((a.match[1] ?? '') < (b.match[1] ?? '') ? -1 : 1));
    for (const { name, match } of files) {
      const [, id = '', number, namespace = '', lines, raw, time, bytes] = match;
      const batch = { id, namespace, lines: Number(lines), raw: Number(raw), time: Number(time), bytes: Number(bytes) };
      const isPart = batches.some((other) => id !== other.id && id.startsWith(other.id));
      if (id === '' || Number(number) > last || isPart) fs.rmSync(join(folder, name), { force: true });
      else if (fs.statSync(join(folder, name)).size !== batch.bytes) {
        // The node stopped before its disk had stored the file.
        fs.rmSync(join(folder, name), { force: true });
        dropped(namespace, batch.lines);
      } else batches.push(batch);
    }
    for (const batch of batches) insert(batch);
    shrink();
  };
  load();

  return {
    stage(batches) {
      for (const batch of batches) {
        counter += 1;
        staged.push(write(String(counter).padStart(batchIdLength, '0'), batch, now()));
      }
    },
    publish() {
      for (const batch of staged) insert(batch);
      staged = [];
      shrink();
    },
    discard() {
      for (const batch of staged) fs.rmSync(pathOf(batch), { force: true });
      staged = [];
    },
    take(maxRaw) {
      const taken: Batch[] = [];
      let raw = 0;
      for (let round = 0; ; round += 1) {
        let more = false;
        for (const { batches } of namespaces.values()) {
          const batch = batches[round];
          if (!batch) continue;
          more = true;
          if (taken.length > 0 && raw + batch.raw > maxRaw) return taken;
          taken.push(batch);
          raw += batch.raw;
        }
        if (!more) return taken;
      }
    },
    find: (id) => [...namespaces.values()].flatMap(({ batches }) => batches).find((batch) => batch.id === id),
    read: (batch) => fs.readFileSync(pathOf(batch)),
    remove,
    replace(batch, parts) {
      const written = parts.map((part, index) => write(`${batch.id}${letters(index)}`, part, batch.time));
      remove(batch);
      const queue = namespaces.get(batch.namespace);
      const after = queue?.batches.splice(0) ?? [];
      if (queue) {
        total -= queue.cost;
        queue.cost = 0;
      }
      for (const each of [...written, ...after]) insert(each);
      return written;
    },
    hold(batches) {
      held = batches;
    },
    last: () => counter,
    usage() {
      const all = [...namespaces.values()].flatMap(({ batches }) => batches);
      return {
        batches: all.length,
        lines: all.reduce((sum, { lines }) => sum + lines, 0),
        bytes: total,
        oldest: all.reduce<number | undefined>((least, { time }) => Math.min(least ?? time, time), undefined),
      };
    },
  };
}

/** `aa`, `ab`, …: of one length, so that no part's id begins with another's. */
function letters(index: number): string {
  const letter = (value: number) => String.fromCharCode(97 + (value % 26));
  return letter(index / 26) + letter(index);
}

/** Replaces a file as a whole. */
export function writeFileAtomically(path: string, content: string): void {
  const temporary = `${path}.new`;
  fs.writeFileSync(temporary, content, { mode: 0o600, flush: true });
  fs.renameSync(temporary, path);
}
