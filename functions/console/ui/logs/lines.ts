import type { LogLineView } from '../../../../runtime/contracts/api/logs.ts';

/** A line that the page has. */
export interface Line extends LogLineView {
  /** Increases with each line that the page got, and never changes. */
  id: number;
}

/** The lines of a log that the page has, oldest first. */
export interface Lines {
  /** A new array after each change. */
  items: () => readonly Line[];
  /** Adds lines at the end; those that the log store delivered late go where their time is. */
  append(lines: readonly LogLineView[]): void;
  /** Adds older lines at the beginning. */
  prepend(lines: readonly LogLineView[]): void;
  /** Whether this number of further lines fits, without dropping any. */
  hasRoom(count: number): boolean;
  /** How many of the oldest lines were dropped to make room. */
  dropped(): number;
  /** A test for the lines of a stream that repeats some: whether the page does not have a line yet. */
  isFresh(): (line: LogLineView) => boolean;
  /** From where a stream continues; it repeats some lines, because clocks of nodes differ. Undefined without any line. */
  continuesFrom(): string | undefined;
  subscribe: (listener: () => void) => () => void;
}

/** Clocks of nodes differ by less. */
const overlapMs = 10_000;

/** Keeps the newest lines: at most `max`, with at most `maxLength` characters in all. A line can have 256 Ki characters. */
export function createLines(max: number, maxLength = 64 * 1024 * 1024): Lines {
  let items: readonly Line[] = [];
  let nextId = 0;
  let dropped = 0;
  const listeners = new Set<() => void>();
  let length = 0;
  const set = (lines: readonly Line[], added: readonly LogLineView[]) => {
    for (const { line } of added) length += line.length;
    let excess = 0;
    for (; lines.length - excess > max || (length > maxLength && excess < lines.length - 1); excess++)
      length -= lines[excess]?.line.length ?? 0;
    dropped += excess;
    items = excess > 0 ? lines.slice(excess) : lines;
    for (const listener of listeners) listener();
  };
  const identified = (lines: readonly LogLineView[]) => lines.map((line) => ({ ...line, id: nextId++ }));
  return {
    items: () => items,
    dropped: () => dropped,
    hasRoom: (count) => items.length + count <= max && length < maxLength / 2,
    append(lines) {
      if (lines.length === 0) return;
      const all = items.concat(identified(lines));
      set(lines.some(({ late }) => late) ? all.sort((a, b) => compare(a.time, b.time) || a.id - b.id) : all, lines);
    },
    prepend(lines) {
      if (lines.length > 0) set(identified(lines).concat(items), lines);
    },
    isFresh() {
      const from = Date.parse(earlier(items.at(-1)?.time) ?? '');
      const counts = new Map<string, number>();
      for (const item of items) {
        if (Date.parse(item.time) >= from) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
      }
      return (line) => {
        const count = counts.get(keyOf(line)) ?? 0;
        if (count > 1) counts.set(keyOf(line), count - 1);
        // What the stream has repeated is not kept for as long as it lasts.
        else counts.delete(keyOf(line));
        return count === 0;
      };
    },
    continuesFrom: () => earlier(items.at(-1)?.time),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const keyOf = ({ pod, time, line }: LogLineView) => `${pod} ${time} ${line}`;
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function earlier(time: string | undefined): string | undefined {
  if (time === undefined) return undefined;
  // Kubernetes compares whole seconds.
  return new Date(Math.floor((Date.parse(time) - overlapMs) / 1000) * 1000).toISOString();
}

/**
 * Of a full page of older lines, those that the next page does not have: it ends before the first time of this one. Where
 * all have the same time, the page itself.
 */
export function wholeTimes(page: readonly LogLineView[]): readonly LogLineView[] {
  const [first] = page;
  const rest = page.filter(({ time }) => time !== first?.time);
  return rest.length > 0 ? rest : page;
}
