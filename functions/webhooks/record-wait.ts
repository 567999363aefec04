import type { Pool } from 'pg';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { isRecorded } from '../../runtime/records/workloads.ts';

/** How long a request waits for a new app, in ms. Its controller records it within a second, unless it is away. */
const waitMs = 5_000;
const pollMs = 100;

/** Waits until the controller has recorded a new app, so that a script can enable its webhook right after creating it. */
export function createRecordWait({ pool, clock }: { pool: Pool; clock: Pick<Clock, 'monotonic' | 'sleep'> }) {
  return async (id: Id, signal: AbortSignal): Promise<void> => {
    const deadline = clock.monotonic() + waitMs;
    while (!(await isRecorded(pool, id)) && clock.monotonic() < deadline && !signal.aborted) {
      await clock.sleep(pollMs, signal).catch(() => undefined);
    }
  };
}
