import type { Clock } from '../../../runtime/domain/clock.ts';
import { textIn } from './json.ts';
import type { ApiObject } from './resource.ts';
import type { Store } from './store.ts';

/** How long Events are kept after they were last seen, as in the real server. */
const retentionMs = 60 * 60_000;
const intervalMs = 5 * 60_000;

/** Deletes old Events periodically until the signal aborts. */
export async function expireEvents(store: Store, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const oldest = clock.now().getTime() - retentionMs;
    for (const event of store.list('/events')) if (lastSeen(event) < oldest) store.remove('/events', event);
    await clock.sleep(intervalMs, signal).catch(() => undefined);
  }
}

function lastSeen(event: ApiObject): number {
  const times = [event['lastTimestamp'], event['eventTime'], event.metadata.creationTimestamp];
  return Math.max(...times.map((time) => Date.parse(textIn(time)) || 0));
}
