import { readBlock, listBlocks } from './segment.ts';
import { withFile } from './disk.ts';
import type { LogCursor, ReadBudget } from './log-store.ts';
import { lineFilter, matchesPod, type LogQuery } from './query.ts';
import type { StoredLine } from './record.ts';

/** Blocks that a read has in memory at once. More than a few overlap only when shippers deliver late. */
const openMax = 16;
/** Blocks that are read before they are needed. */
const readAhead = 3;
/** Lines that are passed on together, and their characters: a line can be long, and a reader has copies of a batch. */
const batchLines = 512;
const batchLength = 256 * 1024;

/** Characters of lines in memory that are examined together. */
const memoryLength = 512 * 1024;
/** What the bookkeeping of a block costs, in bytes that could be examined instead: small blocks are not free. */
const blockCost = 32 * 1024;
const headerCost = 1024;

/** Some lines, such as a block. */
export interface LineSource {
  oldest: string;
  newest: string;
  /** The lines that the query selects, sorted by time and id. */
  lines: () => Promise<StoredLine[]>;
}

/** The blocks of a segment that can have lines of the query; none for a segment that was deleted. */
export async function segmentSources(
  path: string,
  size: number,
  query: LogQuery,
  budget?: ReadBudget,
): Promise<LineSource[]> {
  const blocks = (await withFile(path, 'r', (file) => listBlocks(file, size)).catch(ignoreMissing)) ?? [];
  budget?.spend(blocks.length * headerCost);
  const select = selectionOf(query);
  return blocks
    .filter((block) => canMatch(block, query))
    .map((block) => ({
      oldest: block.oldest,
      newest: block.newest,
      lines: async () => {
        const bytes = (await readBlock(path, block).catch(ignoreMissing)) ?? Buffer.alloc(0);
        budget?.spend(blockCost + bytes.length);
        return parseLines(bytes, query, select);
      },
    }));
}

/** Lines in memory as sources. */
export function memorySources(unsorted: readonly StoredLine[], query: LogQuery, budget?: ReadBudget): LineSource[] {
  const select = selectionOf(query);
  const sources: LineSource[] = [];
  let part: StoredLine[] = [];
  let length = 0;
  for (const [position, line] of unsorted.toSorted(byTime).entries()) {
    part.push(line);
    length += line.line.length;
    if (length < memoryLength && position < unsorted.length - 1) continue;
    const [examined, cost, oldest] = [part, length, part[0]?.time ?? ''];
    const lines = () => {
      budget?.spend(blockCost + cost);
      return Promise.resolve(examined.filter(select));
    };
    sources.push({ oldest, newest: line.time, lines });
    [part, length] = [[], 0];
  }
  return sources.filter((source) => canMatch(source, query));
}

/** Whether lines of these times can be of the query. */
function canMatch({ oldest, newest }: Pick<LineSource, 'oldest' | 'newest'>, query: LogQuery): boolean {
  const { from, to, after, direction } = query;
  if (newest < from || oldest >= to) return false;
  return !after || (direction === 'forward' ? newest >= after.time : oldest <= after.time);
}

/** By time and, for lines of one time, by the order in which they were accepted. */
export function byTime(a: StoredLine, b: StoredLine): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : a.id - b.id;
}

/** How far a reading is, over all of its merges. */
export interface ReadProgress {
  budget?: ReadBudget | undefined;
  /** Whether it has opened a source: a reading always makes some progress. */
  hasBegun: boolean;
}

/**
 * Merges sources in the direction of the query, in batches.
 * @returns where to continue, when the budget ended it
 */
export async function* mergeSources(
  sources: readonly LineSource[],
  { direction, after }: Pick<LogQuery, 'direction' | 'after'>,
  signal: AbortSignal,
  progress: ReadProgress = { hasBegun: false },
): AsyncGenerator<StoredLine[], LogCursor | undefined> {
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
  let last: StoredLine | undefined;
  /**
   * Whether a reading can continue at a source that is not open: every line before it was passed on, and none after it. A
   * cursor that does not lie beyond the one of the query would repeat the same work for ever.
   */
  const canStopAt = ({ oldest, newest }: LineSource) => {
    if (!progress.hasBegun || !progress.budget?.isSpent()) return false;
    if (isForward) return (!last || last.time < oldest) && (!after || oldest > after.time);
    return (!last || last.time > newest) && (!after || newest < after.time);
  };
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
      if (canStopAt(closest)) {
        if (batch.length > 0) yield batch;
        return isForward ? { time: closest.oldest, id: 0 } : { time: closest.newest, id: Number.MAX_SAFE_INTEGER };
      }
      waiting.pop();
      progress.hasBegun = true;
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
    last = head;
    length += head.line.length;
    if (batch.length < batchLines && length < batchLength) continue;
    yield batch;
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield batch;
  return undefined;
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
