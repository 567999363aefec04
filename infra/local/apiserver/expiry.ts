import type { Clock } from '../../../runtime/domain/clock.ts';
import { textIn } from './json.ts';
import type { ApiObject } from './resource.ts';
import type { Store } from './store.ts';

/** How long an Event is kept after it was last seen, as the real server keeps them. */
const keptMs = 60 * 60_000;
const pauseMs = 5 * 60_000;

/** Takes away Events that are over: nobody else does, and there is no end to them. */
export interface Expiry {
  start(): void;
  stop(): Promise<void>;
}

export function createExpiry(options: { store: Store; clock: Clock }): Expiry {
  const { store, clock } = options;
  let stopping = new AbortController();
  let running: Promise<void> | undefined;

  const sweep = () => {
    const oldest = clock.now().getTime() - keptMs;
    for (const event of store.list('/events')) if (lastSeen(event) < oldest) store.remove('/events', event);
  };
  const run = async () => {
    while (!stopping.signal.aborted) {
      sweep();
      await clock.sleep(pauseMs, stopping.signal).catch(() => undefined);
    }
  };

  return {
    start() {
      stopping = new AbortController();
      running ??= run();
    },
    async stop() {
      stopping.abort(new Error('the server stops'));
      await running;
      running = undefined;
    },
  };
}

function lastSeen(event: ApiObject): number {
  const times = [event['lastTimestamp'], event['eventTime'], event.metadata.creationTimestamp];
  return Math.max(...times.map((time) => Date.parse(textIn(time)) || 0));
}
