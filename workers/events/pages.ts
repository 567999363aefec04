import type { FoundEvent } from '../../runtime/records/function-events.ts';

/** Events of a page. */
const pageEvents = 250;
/**
 * Content of a page, but for its last event. Keeping one takes several times its size for a moment, and one process reads
 * sixteen sources at a time.
 */
export const pageBytes = 2 * 1024 * 1024;

/** Gathers events, as they come, into pages: large ones of small events, small ones of large events. */
export async function* inPages(found: AsyncIterable<readonly FoundEvent[]>): AsyncGenerator<FoundEvent[]> {
  let page: FoundEvent[] = [];
  let bytes = 0;
  for await (const events of found) {
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

/** How many events are asked for at once where nobody can say how large they are. */
export interface Pace {
  count: () => number;
  /** Hears how large those were that came. */
  came: (bytes: number) => void;
}

/** One at first, and after what was large; otherwise twice as many each time, up to `most`. */
export function createPace(most: number): Pace {
  let count = 1;
  return {
    count: () => count,
    came: (bytes) => (count = bytes < pageBytes ? Math.min(most, count * 2) : 1),
  };
}
