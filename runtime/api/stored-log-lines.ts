import type { LogStoreState } from '../contracts/api/logs.ts';
import { LogStoreDisabled, type LogReader } from '../logs/log-store.ts';
import { lineFilter, matchesPod, type LineFilter, type LogQuery } from '../logs/query.ts';
import { logTime, type LogKind, type StoredLine } from '../logs/record.ts';
import type { LogSource } from '../workloads/pod-logs.ts';

/** The container whose lines are read, and its workload. */
export interface WorkloadLogSource extends LogSource {
  workload: {
    kind: LogKind;
    name: string;
    /** Lines before it can be those of another owner of the same name. */
    createdAt: Date;
  };
}

/** Which lines to read. */
export interface LogSelection extends LineFilter {
  from: Date;
  /** Default: the end. */
  to?: Date | undefined;
  pod?: string | undefined;
}

/** Lines of the store, and whether it has all. */
export interface StoredLines {
  state: LogStoreState;
  /** Set when lines of the range before this time are deleted. */
  keptSince?: string | undefined;
  lines: AsyncGenerator<StoredLine>;
}

/** Later lines are those of nodes whose clock is ahead. */
const farFutureMs = 3_600_000;

interface ReadOptions extends Pick<LogQuery, 'limit' | 'direction' | 'after'> {
  /** The user for whom the store is read. */
  reader: string;
  signal: AbortSignal;
  now: Date;
}

/** Reads the lines of a workload from the store. Without an answer there are none, and the state says so. */
export async function readStoredLines(
  store: LogReader | undefined,
  source: WorkloadLogSource,
  { from, to, pod, search, level }: LogSelection,
  { limit, direction, reader, after, signal, now }: ReadOptions,
): Promise<StoredLines> {
  const { namespace, container, workload } = source;
  if (!store) return { state: 'disabled', lines: none() };
  const first = logTime(from < workload.createdAt ? workload.createdAt : from);
  const last = logTime(to ?? new Date(now.getTime() + farFutureMs));
  const { kind, name } = workload;
  const query: LogQuery = {
    namespace,
    kind,
    name,
    container,
    from: first,
    to: last,
    direction,
    limit,
    pod,
    search,
    level,
    reader,
    after,
  };
  const result: StoredLines = { state: 'ok', lines: none() };
  try {
    const { keptSince, batches } = await store.read(query, signal);
    if (keptSince > first) result.keptSince = keptSince;
    result.lines = linesOf(batches, () => (result.state = 'unavailable'));
  } catch (error) {
    signal.throwIfAborted();
    result.state = error instanceof LogStoreDisabled ? 'disabled' : 'unavailable';
  }
  return result;
}

/** A test for lines of pods, as the store's. */
export function selects({
  to,
  pod,
  ...filter
}: LogSelection): (line: { pod: string; time: string; line: string }) => boolean {
  const matches = lineFilter(filter);
  const end = to && logTime(to);
  return (line) => matchesPod(line.pod, pod) && (end === undefined || line.time < end) && matches(line.line);
}

/** Lines until the end, or until the store fails. */
async function* linesOf(batches: AsyncGenerator<StoredLine[]>, onFailure: () => void): AsyncGenerator<StoredLine> {
  try {
    for await (const batch of batches) yield* batch;
  } catch {
    onFailure();
  }
}

async function* none(): AsyncGenerator<StoredLine> {
  // No lines.
}
