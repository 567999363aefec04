import type { Clock } from '../../runtime/domain/clock.ts';
import { freshnessCeilingMs, type GateView } from './view.ts';

/**
 * Whether this replica should get requests (decision 0004). A replica without a view leaves them to the others. After
 * 90 seconds without the store, the views of the others are stale, too, and this one becomes ready to answer 503. A
 * stale view does not make a replica unready.
 */
export function createReadiness(view: Pick<GateView, 'position'>, clock: Clock): () => boolean {
  const startedAt = clock.monotonic();
  return () => view.position() !== undefined || clock.monotonic() - startedAt >= freshnessCeilingMs;
}
