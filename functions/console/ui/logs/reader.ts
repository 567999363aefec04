import type { z } from 'zod';
import type {
  logEnd,
  logLines,
  LogLineView,
  LogNotice,
  LogStoreState,
} from '../../../../runtime/contracts/api/logs.ts';
import { ApiError, request, requestLines } from '../api/client.ts';
import { createLines, wholeTimes, type Lines } from './lines.ts';

type LogPage = z.infer<typeof logLines>;
type Streamed = LogLineView | LogNotice | z.infer<typeof logEnd>;

/** Maximum lines in memory. */
const linesMax = 100_000;
/** Lines of one page; the API sends at most 10,000. */
const pageSize = 5_000;
/** Lines of a stream are shown together this often. */
const gatherMs = 100;
const retryMs = 2_000;

/** What of a log is read. */
interface LogRange {
  sinceSeconds: number;
  level: string | undefined;
  pod: string | undefined;
  /** The time of a line: what surrounds it is read, and not followed. */
  at: string | undefined;
}

/** What the page knows of the log besides its lines. */
export interface LogState {
  /** Whether the first page has arrived. */
  isRead: boolean;
  /** Whether the store may have older lines of the range. */
  hasOlder: boolean;
  store?: LogStoreState | undefined;
  keptSince?: string | undefined;
  error?: unknown;
  /** Whether new lines arrive. */
  isFollowing: boolean;
}

/** Reads a log for as long as a page shows it. */
export interface LogReader {
  lines: Lines;
  state: () => LogState;
  subscribe: (listener: () => void) => () => void;
  /** Reads older lines of the range, if there are any. */
  readOlder: () => Promise<void>;
  /** Whether there are older lines, and room for them. */
  mayReadOlder(): boolean;
  /** A hidden page does not follow; a visible one continues where it was. */
  show(isVisible: boolean): void;
  /** Ends the reading. */
  stop(): void;
}

interface ReadOptions {
  /** Of the log's route, below `/api/v1`. */
  path: string;
  environment: string;
  range: LogRange;
  follows: boolean;
}

/** Starts to read a log: its last lines, and then, if `follows`, what is printed. */
export function readLog({ path, environment, range, follows }: ReadOptions): LogReader {
  const stopping = new AbortController();
  const { signal } = stopping;
  const lines = createLines(linesMax);
  const listeners = new Set<() => void>();
  let state: LogState = { isRead: false, hasOlder: false, isFollowing: false };
  const set = (change: Partial<LogState>) => {
    if (signal.aborted) return;
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  };
  const { level, pod, at, sinceSeconds } = range;
  const end = at === undefined ? Date.now() : Date.parse(at);
  const start = new Date(end - sinceSeconds * 1000).toISOString();
  const common = { environment, level, pod };
  const open = (query: Record<string, string | boolean>, until: AbortSignal) =>
    requestLines<Streamed>(path, { query: { ...common, ...query }, signal: until });

  /** The last lines before a time, or of all. */
  const readPage = async (until?: string): Promise<readonly LogLineView[]> => {
    const query = { ...common, tail: pageSize, sinceTime: start, until };
    const { items, truncated, store, keptSince } = await request<LogPage>(path, { query, signal });
    const isFull = truncated === true || items.length >= pageSize;
    set({ isRead: true, hasOlder: isFull && items.length > 0, store, keptSince, error: undefined });
    return isFull ? wholeTimes(items) : items;
  };

  /** The first lines from a time on. */
  const readAfter = async (time: string) => {
    const enough = new AbortController();
    const page: LogLineView[] = [];
    for await (const item of open({ all: true, sinceTime: time }, AbortSignal.any([signal, enough.signal]))) {
      if (item && 'line' in item) page.push(item);
      if (page.length >= pageSize) break;
    }
    enough.abort();
    lines.append(page);
  };

  let hidden = new AbortController();
  let shown = Promise.withResolvers<void>();
  shown.resolve();

  const follow = async (until: AbortSignal) => {
    const isFresh = lines.isFresh();
    const due: LogLineView[] = [];
    const flush = () => lines.append(due.splice(0));
    const timer = setInterval(flush, gatherMs);
    try {
      for await (const item of open({ follow: true, sinceTime: lines.continuesFrom() ?? start }, until)) {
        if (!state.isFollowing) set({ isFollowing: true, error: undefined });
        if (item && 'line' in item) {
          if (isFresh(item)) due.push(item);
        } else if (item) set({ store: item.store });
      }
    } finally {
      clearInterval(timer);
      flush();
      set({ isFollowing: false });
    }
  };

  const followForever = async () => {
    while (!signal.aborted) {
      await shown.promise;
      const { signal: hides } = hidden;
      try {
        await follow(AbortSignal.any([signal, hides]));
      } catch (error) {
        if (error instanceof ApiError && !isTemporary(error)) throw error;
        if (!hides.aborted) set({ error });
      }
      if (!hides.aborted) await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  };

  /** The first page, also when the API does not answer at first. A hidden page does not ask for it again. */
  const readFirst = async () => {
    while (!signal.aborted) {
      await shown.promise;
      try {
        return await readPage(at);
      } catch (error) {
        if (!(error instanceof ApiError && isTemporary(error))) throw error;
        set({ error, isRead: true });
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
    return [];
  };

  const read = async () => {
    try {
      lines.append(await readFirst());
      if (at !== undefined) await readAfter(at);
      else if (follows) await followForever();
    } catch (error) {
      set({ error, isRead: true });
    }
  };
  void read();

  let older: Promise<void> | undefined;
  return {
    lines,
    state: () => state,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    mayReadOlder: () => state.hasOlder && lines.hasRoom(pageSize),
    readOlder: () => {
      const first = lines.items()[0]?.time;
      if (!state.hasOlder || first === undefined || !lines.hasRoom(pageSize)) return Promise.resolve();
      older ??= readPage(first)
        .then(
          (page) => lines.prepend(page),
          (error: unknown) => set({ error }),
        )
        .finally(() => (older = undefined));
      return older;
    },
    show(isVisible) {
      if (isVisible === !hidden.signal.aborted) return;
      if (isVisible) {
        hidden = new AbortController();
        shown.resolve();
      } else {
        shown = Promise.withResolvers();
        hidden.abort();
      }
    },
    stop: () => stopping.abort(),
  };
}

/** Whether the same request may succeed later. */
function isTemporary({ status }: ApiError): boolean {
  return status === 0 || status === 429 || status >= 500;
}
