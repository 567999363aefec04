import type { SourceEvent } from '../../runtime/domain/events.ts';

/** Maximum events in a page. */
const pageEvents = 250;
/**
 * Maximum size of a page without its last event. Storing a page briefly takes several times its size in memory, and one
 * process reads sixteen sources at a time.
 */
export const pageBytes = 2 * 1024 * 1024;

/** Groups events into pages: many small events, or few large ones. */
export async function* toPages(batches: AsyncIterable<readonly SourceEvent[]>): AsyncGenerator<SourceEvent[]> {
  let page: SourceEvent[] = [];
  let bytes = 0;
  for await (const events of batches) {
    for (const event of events) {
      page.push(event);
      bytes += Buffer.byteLength(event.payload ?? '');
      if (page.length < pageEvents && bytes < pageBytes) continue;
      yield page;
      page = [];
      bytes = 0;
    }
  }
  if (page.length > 0) yield page;
}

/** Decides how many events of unknown size to fetch at once. */
export interface BatchSize {
  count: () => number;
  /** Takes the size of the last batch. */
  record: (bytes: number) => void;
}

/** Starts with one event, doubles up to `max`, and returns to one after a large batch. */
export function createBatchSize(max: number): BatchSize {
  let count = 1;
  return { count: () => count, record: (bytes) => (count = bytes < pageBytes ? Math.min(max, count * 2) : 1) };
}
