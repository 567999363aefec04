import type { LogCursor, LogReader } from './log-store.ts';
import { parseCursor, queryParameters, type LogQuery } from './query.ts';
import type { StoredLine } from './record.ts';

/** Time-out until the store begins to answer. */
const answerMs = 10_000;
/** A store never sends a longer line. */
const lineMaxBytes = 4 * 1024 * 1024;

export interface LogClientOptions {
  /** The store's address, such as `http://log-store.monitoring.svc:3100`. */
  url: string;
  /** Reads the token at each request, because it can change. */
  token: () => Promise<string>;
}

/** One answer: a part of a reading. */
interface Answer {
  keptSince: string;
  /** Returns where the next answer is to begin; undefined after the last one. */
  batches: AsyncGenerator<StoredLine[], LogCursor | undefined>;
}

/** Reads from a log store by HTTP, with as many requests as it takes. */
export function createLogClient({ url, token }: LogClientOptions): LogReader {
  const request = async (query: LogQuery, signal: AbortSignal): Promise<Answer> => {
    const stop = new AbortController();
    const all = AbortSignal.any([signal, stop.signal]);
    const timer = setTimeout(() => stop.abort(new Error('the log store did not answer in time')), answerMs);
    const headers = { authorization: `Bearer ${(await token()).trim()}` };
    try {
      const response = await fetch(`${url}/read?${queryParameters(query).toString()}`, { headers, signal: all });
      if (response.status !== 200 || !response.body) {
        await response.body?.cancel();
        throw new Error(`the log store answered ${response.status}`);
      }
      const keptSince = response.headers.get('x-svc-kept-since') ?? '';
      return { keptSince, batches: readBatches(response.body, stop) };
    } finally {
      clearTimeout(timer);
    }
  };

  async function* readAnswers(query: LogQuery, first: Answer, signal: AbortSignal): AsyncGenerator<StoredLine[]> {
    let { batches } = first;
    let left = query.limit;
    let cursor = query.after;
    for (;;) {
      let after: LogCursor | undefined;
      try {
        for (let batch = await batches.next(); ; batch = await batches.next()) {
          if (batch.done) {
            after = batch.value;
            break;
          }
          after = batch.value.at(-1);
          if (left !== undefined) left -= batch.value.length;
          yield batch.value;
        }
      } catch (error) {
        // An answer is cut when its reader takes nothing for long, or the store is replaced.
        if (!after || signal.aborted) throw error;
      } finally {
        // Ends the request of a reader that stops.
        await batches.return(undefined);
      }
      if (!after || (left !== undefined && left <= 0)) return;
      if (!isBeyond(after, cursor, query.direction)) throw new Error('the log store repeats itself');
      cursor = after;
      ({ batches } = await request({ ...query, after, limit: left }, signal));
    }
  }

  return {
    async read(query, signal) {
      const first = await request(query, signal);
      return { keptSince: first.keptSince, batches: readAnswers(query, first, signal) };
    },
  };
}

/** Whether a cursor lies behind another one, in the direction of the reading. */
function isBeyond(cursor: LogCursor, previous: LogCursor | undefined, direction: LogQuery['direction']): boolean {
  if (!previous) return true;
  const order = cursor.time < previous.time ? -1 : cursor.time > previous.time ? 1 : cursor.id - previous.id;
  return direction === 'forward' ? order > 0 : order < 0;
}

/** The last line of an answer. */
const isEnd = (line: string | undefined) => line === '{"end":true}' || line?.startsWith('{"next":') === true;

/** The lines of an answer. Ends the request when its reader stops. @throws Error for an answer that was cut */
async function* readBatches(
  body: ReadableStream<Uint8Array>,
  stop: AbortController,
): AsyncGenerator<StoredLine[], LogCursor | undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of body) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = parts.pop() ?? '';
      if (rest.length > lineMaxBytes) throw new Error('the log store sent a line that is too long');
      const end = isEnd(parts.at(-1)) ? parts.pop() : undefined;
      const lines = parts.map((part) => JSON.parse(part) as StoredLine);
      if (lines.length > 0) yield lines;
      if (end !== undefined) return parseCursor((JSON.parse(end) as { next?: string }).next);
    }
    throw new Error('the answer of the log store was cut');
  } finally {
    stop.abort(new Error('the reading ended'));
  }
}
