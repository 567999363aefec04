import type { LogReader } from './log-store.ts';
import { queryParameters } from './query.ts';
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

/** Reads from a log store by HTTP. */
export function createLogClient({ url, token }: LogClientOptions): LogReader {
  return {
    async read(query, signal) {
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
    },
  };
}

/** The lines of an answer. Ends the request when its reader stops. @throws Error for an answer that was cut */
async function* readBatches(body: ReadableStream<Uint8Array>, stop: AbortController): AsyncGenerator<StoredLine[]> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of body) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = parts.pop() ?? '';
      if (rest.length > lineMaxBytes) throw new Error('the log store sent a line that is too long');
      const isLast = parts.at(-1) === '{"end":true}';
      const lines = (isLast ? parts.slice(0, -1) : parts).map((part) => JSON.parse(part) as StoredLine);
      if (lines.length > 0) yield lines;
      if (isLast) return;
    }
    throw new Error('the answer of the log store was cut');
  } finally {
    stop.abort(new Error('the reading ended'));
  }
}
