import { readBlock, listBlocks } from './segment.ts';
import { withFile } from './disk.ts';
import { lineFilter, matchesPod, type LogQuery } from './query.ts';
import type { StoredLine } from './record.ts';

/** Blocks that a read has in memory at once. More than a few overlap only when shippers deliver late. */
const openMax = 16;
/** Blocks that are read before they are needed. */
const readAhead = 3;
/** Lines that are passed on together, and their characters: a line can be long, and a reader has copies of a batch. */
const batchLines = 512;
const batchLength = 256 * 1024;

/** Some lines, such as a block. */
export interface LineSource {
  oldest: string;
  newest: string;
  /** The lines that the query selects, sorted by time and id. */
  lines: () => Promise<StoredLine[]>;
}

/** The blocks of a segment that can have lines of the query; none for a segment that was deleted. */
export async function segmentSources(path: string, size: number, query: LogQuery): Promise<LineSource[]> {
  const blocks = await withFile(path, 'r', (file) => listBlocks(file, size)).catch(ignoreMissing);
  const select = selectionOf(query);
  return (blocks ?? [])
    .filter(({ oldest, newest }) => newest >= query.from && oldest < query.to)
    .map((block) => ({
      oldest: block.oldest,
      newest: block.newest,
      lines: async () =>
        parseLines((await readBlock(path, block).catch(ignoreMissing)) ?? Buffer.alloc(0), query, select),
    }));
}

/** Lines in memory as a source; undefined when the query selects none. */
export function memorySource(lines: readonly StoredLine[], query: LogQuery): LineSource | undefined {
  const selected = lines.filter(selectionOf(query)).sort(byTime);
  const [first, last] = [selected[0], selected.at(-1)];
  if (!first || !last) return undefined;
  return { oldest: first.time, newest: last.time, lines: () => Promise.resolve(selected) };
}

/** By time and, for lines of one time, by the order in which they were accepted. */
export function byTime(a: StoredLine, b: StoredLine): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : a.id - b.id;
}

/** Merges sources in the direction of the query, in batches. */
export async function* mergeSources(
  sources: readonly LineSource[],
  direction: LogQuery['direction'],
  signal: AbortSignal,
): AsyncGenerator<StoredLine[]> {
  const isForward = direction === 'forward';
  /** The closest one is last. */
  const waiting = isForward
    ? sources.toSorted((a, b) => (a.oldest < b.oldest ? 1 : a.oldest > b.oldest ? -1 : 0))
    : sources.toSorted((a, b) => (a.newest < b.newest ? -1 : a.newest > b.newest ? 1 : 0));
  const isBefore = isForward
    ? (a: StoredLine, b: StoredLine) => byTime(a, b) < 0
    : (a: StoredLine, b: StoredLine) => byTime(b, a) < 0;
  /** Whether a source that is not open can have a line before this one. */
  const mustOpen = (source: LineSource, head: StoredLine) =>
    isForward ? source.oldest <= head.time : source.newest >= head.time;
  /** Lines in reverse order of the direction, so that the next is the last. */
  const open: StoredLine[][] = [];
  let batch: StoredLine[] = [];
  let length = 0;
  const reading = new Map<LineSource, Promise<StoredLine[]>>();
  const linesOf = (source: LineSource) => {
    const lines = reading.get(source) ?? source.lines();
    reading.set(source, lines);
    return lines;
  };
  for (;;) {
    signal.throwIfAborted();
    let next: StoredLine[] | undefined;
    for (const lines of open) {
      const [line, best] = [lines.at(-1), next?.at(-1)];
      if (line && (!best || isBefore(line, best))) next = lines;
    }
    const head = next?.at(-1);
    const closest = waiting.at(-1);
    if (closest && (!head || (open.length < openMax && mustOpen(closest, head)))) {
      waiting.pop();
      // A search opens many blocks in which nothing matches, so the next ones are read meanwhile.
      for (const source of waiting.slice(-readAhead)) void linesOf(source).catch(() => undefined);
      const lines = await linesOf(closest);
      reading.delete(closest);
      if (lines.length > 0) open.push(isForward ? lines.toReversed() : [...lines]);
      continue;
    }
    if (!next || !head) break;
    next.pop();
    if (next.length === 0) open.splice(open.indexOf(next), 1);
    batch.push(head);
    length += head.line.length;
    if (batch.length < batchLines && length < batchLength) continue;
    yield batch;
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield batch;
}

/** A test for a whole line. */
function selectionOf(query: LogQuery): (line: StoredLine) => boolean {
  const { from, to, after, container, pod, direction } = query;
  const matches = lineFilter(query);
  const isAfter = (line: StoredLine) => {
    if (!after) return true;
    const order = line.time < after.time ? -1 : line.time > after.time ? 1 : line.id - after.id;
    return direction === 'forward' ? order > 0 : order < 0;
  };
  return (line) =>
    line.time >= from &&
    line.time < to &&
    isAfter(line) &&
    (container === undefined || line.container === container) &&
    matchesPod(line.pod, pod) &&
    matches(line.line);
}

const newline = 10;

/** Parses the lines of a block. With a search, only those that contain its text are parsed. */
function parseLines(block: Buffer, { search }: LogQuery, select: (line: StoredLine) => boolean): StoredLine[] {
  const selected: StoredLine[] = [];
  const needle = search === undefined ? undefined : Buffer.from(JSON.stringify(search).slice(1, -1));
  let start = 0;
  while (start < block.length) {
    if (needle) {
      const match = block.indexOf(needle, start);
      if (match < 0) break;
      start = block.lastIndexOf(newline, match) + 1;
    }
    const newlineAt = block.indexOf(newline, start);
    const end = newlineAt < 0 ? block.length : newlineAt;
    const line = JSON.parse(block.toString('utf8', start, end)) as StoredLine;
    if (select(line)) selected.push(line);
    start = end + 1;
  }
  return selected;
}

function ignoreMissing(error: unknown): undefined {
  if ((error as { code?: unknown }).code === 'ENOENT') return undefined;
  throw error;
}
