/** The records of one namespace since the last commit. */
interface NamespaceRecords {
  namespace: string;
  lines: number;
  text: Buffer;
}

/** Records that are not yet stored on disk. */
export interface PendingRecords {
  /** Adds a record with its line break. */
  add(namespace: string, record: string): void;
  bytes(): number;
  /** The records in parts, valid until they are cleared. */
  parts(): NamespaceRecords[];
  clear(): void;
}

interface Part {
  namespace: string;
  lines: number;
  bytes: number;
  /** Consecutive bytes of one namespace are one slice. */
  slices: { start: number; end: number; own?: Buffer }[];
}

/**
 * Keeps records in one buffer, which is used again after each commit: texts that live for a second would fill the heap.
 * @param size of the buffer; records that do not fit get memory of their own
 * @param partBytes maximum size of a part, which one more record may exceed
 */
export function createPendingRecords(size: number, partBytes: number): PendingRecords {
  const buffer = Buffer.alloc(size);
  const open = new Map<string, Part>();
  let parts: Part[] = [];
  let used = 0;
  let total = 0;

  const partOf = (namespace: string): Part => {
    const current = open.get(namespace);
    if (current && current.bytes < partBytes) return current;
    const part: Part = { namespace, lines: 0, bytes: 0, slices: [] };
    open.set(namespace, part);
    parts.push(part);
    return part;
  };

  return {
    add(namespace, record) {
      const part = partOf(namespace);
      part.lines += 1;
      let bytes: number;
      // A character takes at most three bytes.
      if (record.length * 3 <= size - used) {
        bytes = buffer.write(record, used);
        const last = part.slices.at(-1);
        if (last && last.end === used && !last.own) last.end += bytes;
        else part.slices.push({ start: used, end: used + bytes });
        used += bytes;
      } else {
        const own = Buffer.from(record);
        bytes = own.length;
        part.slices.push({ start: 0, end: bytes, own });
      }
      part.bytes += bytes;
      total += bytes;
    },
    bytes: () => total,
    parts: () =>
      parts.map(({ namespace, lines, slices }) => {
        const views = slices.map(({ start, end, own = buffer }) => own.subarray(start, end));
        const [first] = views;
        return { namespace, lines, text: first && views.length === 1 ? first : Buffer.concat(views) };
      }),
    clear() {
      open.clear();
      parts = [];
      used = 0;
      total = 0;
    },
  };
}
