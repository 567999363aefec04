import { withFile } from './disk.ts';
import type { FlushHead, FlushLog, FlushPart } from './flush-log.ts';
import type { LogRecord, StoredLine } from './record.ts';
import { listBlocks, readBlock } from './segment.ts';
import type { SegmentKey } from './segment-index.ts';

/** Maximum lines of a page, and the characters after which it ends. */
const pageLines = 4_096;
const pageLength = 512 * 1024;

/** A line of any workload. */
export interface FedLine extends LogRecord {
  id: number;
}

/** The next lines that the store accepted. */
export interface FeedPage {
  lines: FedLine[];
  /** Where the next page begins. */
  position: string;
  /** Lines before the position that the store deleted before they were read, at most. */
  missed: number;
  /** Lines after the position. */
  pending: number;
}

/** What readers of all lines need of a store; the client has it, too. */
export interface LogFeed {
  /**
   * The lines after a position; without a position none, but that of the next line. Each line is in one page, unless the
   * store has deleted it. A flush that is being written has its lines in a later page.
   */
  feed(position: string | undefined, signal: AbortSignal): Promise<FeedPage>;
}

/** Lines in memory of one workload and hour, in the order of their ids. */
export interface Group extends SegmentKey {
  lines: StoredLine[];
}

/** What a flush of these lines writes to each segment. */
export function partsOf(groups: Iterable<Group>): FlushPart[] {
  return [...groups].map(({ lines, namespace, kind, name, hour }) => {
    return { namespace, kind, name, hour, count: lines.length, last: lines.at(-1)?.id ?? 0 };
  });
}

/** The state of a store at one moment. */
export interface FeedSources {
  /** Which store it is: ids of lines say nothing about those of a store before, whose data was deleted. */
  identity: number;
  /** The id of the next line that is accepted. */
  next: number;
  /** The lines in memory that are not being written. */
  memory: { first: number; groups: Iterable<Group> };
  /** The first line that is being written. */
  flushing: number | undefined;
  flushes: Pick<FlushLog, 'after' | 'parts'>;
  /** Where a segment is, and the size of what it has; 0 for one that was deleted. */
  segment: (key: SegmentKey) => { path: string; size: number };
}

/** Everything up to `after` was read, and of a flush the blocks before this one. */
interface Position {
  after: number;
  flush?: { generation: number; part: number; block: number } | undefined;
}

/** Reads a page. The position is of an earlier page; another text is treated as the end. */
export async function readFeed(text: string | undefined, sources: FeedSources): Promise<FeedPage> {
  const { identity, next, memory, flushing, flushes } = sources;
  const parsed = parsePosition(text, identity);
  const position = parsed && parsed.after < next ? parsed : { after: next - 1 };
  const page = (lines: FedLine[], end: Position, missed = 0): FeedPage => ({
    lines,
    position: formatPosition(end, identity),
    missed,
    pending: next - 1 - end.after,
  });
  const { after } = position;
  if (after >= memory.first - 1) {
    const lines = linesInMemory(memory.groups, after);
    return page(lines, { after: lines.at(-1)?.id ?? after });
  }
  if (flushing !== undefined && after >= flushing - 1) return page([], position);
  const head = flushes.after(after);
  // What no flush has and is not in memory was deleted.
  const first = head?.first ?? flushing ?? memory.first;
  const gap = Math.max(0, first - 1 - after);
  // What an earlier store had is gone with its ids.
  const missed = after === 0 ? 0 : gap;
  if (!head) return page([], { after: first - 1 }, missed);
  const flush = await readFlush(head, gap > 0 ? { after: first - 1 } : position, sources);
  return page(flush.lines, flush.position, missed + flush.missed);
}

async function readFlush(
  head: FlushHead,
  { after, flush }: Position,
  { flushes, segment }: FeedSources,
): Promise<{ lines: FedLine[]; position: Position; missed: number }> {
  const { generation } = head;
  const parts = await flushes.parts(head);
  if (!parts) return { lines: [], position: { after: head.last }, missed: head.last - after };
  const lines: FedLine[] = [];
  let [length, missed] = [0, 0];
  const start = flush?.generation === generation ? flush : { part: 0, block: 0 };
  for (const [part, { count, last, ...key }] of parts.entries()) {
    if (part < start.part || last <= after) continue;
    const { path, size } = segment(key);
    const blocks = (await withFile(path, 'r', (file) => listBlocks(file, size)).catch(ignoreMissing)) ?? [];
    const own = blocks.filter((block) => block.generation === generation);
    if (own.length === 0) missed += Math.min(count, last - after);
    for (const [block, place] of own.entries()) {
      if (part === start.part && block < start.block) continue;
      if (length >= pageLength || lines.length >= pageLines) {
        return { lines, position: { after, flush: { generation, part, block } }, missed };
      }
      const content = (await readBlock(path, place).catch(ignoreMissing)) ?? Buffer.alloc(0);
      if (content.length === 0) missed += place.count;
      for (const line of linesAfter(content, after)) {
        lines.push(fedLine(key, line));
        length += line.line.length;
      }
    }
  }
  return { lines, position: { after: head.last }, missed };
}

/** The lines of a block after an id. */
function* linesAfter(content: Buffer, after: number): Generator<StoredLine> {
  for (const text of content.toString('utf8').split('\n')) {
    // Most lines of a block can have been read before it was written; the store writes the id first.
    if (text === '' || Number.parseInt(text.slice('{"id":'.length, 24), 10) <= after) continue;
    const line = JSON.parse(text) as StoredLine;
    if (line.id > after) yield line;
  }
}

/** The first lines after an id, in the order of their ids. */
function linesInMemory(groups: Iterable<Group>, after: number): FedLine[] {
  const candidates: { group: Group; line: StoredLine }[] = [];
  for (const group of groups) {
    const start = firstAfter(group.lines, after);
    // No group can have more lines in the page than a page has.
    for (const line of group.lines.slice(start, start + pageLines)) candidates.push({ group, line });
  }
  candidates.sort((a, b) => a.line.id - b.line.id);
  const lines: FedLine[] = [];
  let length = 0;
  for (const { group, line } of candidates) {
    if (length >= pageLength || lines.length >= pageLines) break;
    lines.push(fedLine(group, line));
    length += line.line.length;
  }
  return lines;
}

/** The index of the first line after an id. */
function firstAfter(lines: readonly StoredLine[], after: number): number {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((lines[middle]?.id ?? 0) > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

function fedLine({ namespace, kind, name }: SegmentKey, line: StoredLine): FedLine {
  const { id, pod, container, time, stream, line: text } = line;
  return { id, namespace, pod, container, workload: { kind, name }, time, stream, line: text };
}

function formatPosition({ after, flush }: Position, identity: number): string {
  return [identity, after, ...(flush ? [flush.generation, flush.part, flush.block] : [])].join('.');
}

/** Whether a text can be a position. */
export function isPosition(text: string): boolean {
  return /^\d{1,16}\.\d{1,16}(\.\d{1,16}\.\d{1,9}\.\d{1,9})?$/.test(text);
}

/** The beginning for a position in another store. */
function parsePosition(text: string | undefined, identity: number): Position | undefined {
  if (text === undefined || !isPosition(text)) return undefined;
  const [store, after = 0, generation, part = 0, block = 0] = text.split('.').map(Number);
  if (store !== identity) return { after: 0 };
  return { after, ...(generation !== undefined && { flush: { generation, part, block } }) };
}

function ignoreMissing(error: unknown): undefined {
  if ((error as { code?: unknown }).code === 'ENOENT') return undefined;
  throw error;
}
