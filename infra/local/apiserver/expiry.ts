import type { Clock } from '../../../runtime/domain/clock.ts';
import { textIn } from './json.ts';
import type { ApiObject } from './resource.ts';
import type { Store } from './store.ts';

/** How long an Event is kept after it was last seen, as the real server keeps them. */
const keptMs = 60 * 60_000;
const pauseMs = 5 * 60_000;

/** Takes away Events that are over, since nobody else does, until the signal says so. */
export async function expireEvents(store: Store, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const oldest = clock.now().getTime() - keptMs;
    for (const event of store.list('/events')) if (lastSeen(event) < oldest) store.remove('/events', event);
    await clock.sleep(pauseMs, signal).catch(() => undefined);
  }
}

function lastSeen(event: ApiObject): number {
  const times = [event['lastTimestamp'], event['eventTime'], event.metadata.creationTimestamp];
  return Math.max(...times.map((time) => Date.parse(textIn(time)) || 0));
}
