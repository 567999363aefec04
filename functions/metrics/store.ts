import { overloaded } from '../../runtime/http/body-memory.ts';
import { createFairPlaces, PlacesFull } from '../../runtime/domain/fair-places.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { MetricsUnavailable, type MetricsStore } from '../../runtime/metrics/metrics-store.ts';

/** The questions to the store of all members, by namespace. */
const limits = { total: 12, perKey: 3, waitingPerKey: 50, waitingTotal: 600 };

/**
 * The store, for members: environments take turns, so that a busy one or a slow store keeps no other waiting for long.
 * @returns a function that asks for a namespace @throws Problem `metrics_unavailable`, `overloaded`; the signal's reason when
 * the client leaves while it waits
 */
export function createAsk(store: MetricsStore | undefined) {
  const places = createFairPlaces(limits);
  return async <T>(
    namespace: string,
    signal: AbortSignal,
    question: (store: MetricsStore) => Promise<T>,
  ): Promise<T> => {
    if (!store) throw unavailable('The installation has no metrics store.');
    const leave = await places.enter(namespace, signal).catch((error: unknown) => {
      if (error instanceof PlacesFull) throw overloaded('Too many requests for metrics of this environment wait.');
      throw error;
    });
    try {
      return await question(store);
    } catch (error) {
      if (error instanceof MetricsUnavailable) throw unavailable(error.message, error);
      throw error;
    } finally {
      leave();
    }
  };
}

function unavailable(reason: string, cause?: unknown): Problem {
  return new Problem(
    'metrics_unavailable',
    `${reason} \`svc top\` still shows the pods. Ask a platform admin to check the metrics store with \`svc status\`.`,
    { cause },
  );
}
