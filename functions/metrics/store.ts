import { overloaded } from '../../runtime/http/body-memory.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { createFairQueue, QueueFull } from '../../runtime/metrics/fair-queue.ts';
import { MetricsUnavailable, type MetricsStore } from '../../runtime/metrics/metrics-store.ts';

/** Questions to the store at once, of all members and of those of one environment; and how many of one wait. */
const limits = { total: 12, perGroup: 3, waiting: 50 };

/**
 * The store, for members: environments take turns, so that a busy one or a slow store keeps no other waiting for long.
 * @returns a function that asks for a namespace @throws Problem `metrics_unavailable`, `overloaded`
 */
export function createAsk(store: MetricsStore | undefined) {
  const queue = createFairQueue(limits);
  return async <T>(namespace: string, question: (store: MetricsStore) => Promise<T>): Promise<T> => {
    if (!store) throw unavailable('The installation has no metrics store.');
    try {
      return await queue.run(namespace, () => question(store));
    } catch (error) {
      if (error instanceof MetricsUnavailable) throw unavailable(error.message, error);
      if (error instanceof QueueFull) throw overloaded('Too many requests for metrics of this environment wait.');
      throw error;
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
