import type { Clock } from '../../runtime/domain/clock.ts';
import { freshnessCeilingMs, type GateView } from './view.ts';

/**
 * Whether this replica is to get requests (decision 0004). One without a view leaves them to those that have one; when
 * the ceiling has passed since its start, theirs is no longer fresh either if the store is away, and somebody has to
 * answer with the 503 that says so. A view that went stale is no reason to be left out.
 */
export function createReadiness(view: Pick<GateView, 'position'>, clock: Clock): () => boolean {
  const startedAt = clock.monotonic();
  return () => view.position() !== undefined || clock.monotonic() - startedAt >= freshnessCeilingMs;
}
