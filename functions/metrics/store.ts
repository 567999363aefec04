import { isEnabled } from '../../runtime/contracts/resources/monitoring.ts';
import { overloaded } from '../../runtime/http/body-memory.ts';
import { createFairPlaces, PlacesFull } from '../../runtime/domain/fair-places.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { MetricsUnavailable, type MetricsStore } from '../../runtime/metrics/metrics-store.ts';
import { readSettingsIfAny } from '../../runtime/workloads/platform-config.ts';

/** The questions to the store of all members, by namespace. */
const limits = { total: 12, perKey: 3, waitingPerKey: 50, waitingTotal: 600 };

/**
 * The store, for members: environments take turns, so that a busy one or a slow store keeps no other waiting for long.
 * A failure says whether an admin has disabled the store; the settings are read after a failure only.
 * @returns a function that asks for a namespace @throws Problem `metrics_unavailable`, `overloaded`; the signal's reason when
 * the client leaves while it waits
 */
export function createAsk(store: MetricsStore | undefined, kube: Pick<KubeClient, 'get'>) {
  const isDisabled = async () => {
    const settings = await readSettingsIfAny(kube).catch(() => undefined);
    return settings?.monitoring !== undefined && !isEnabled('metrics-store', settings);
  };
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
      if (!(error instanceof MetricsUnavailable)) throw error;
      throw (await isDisabled()) ? disabled(error) : unavailable(error.message, error);
    } finally {
      leave();
    }
  };
}

function disabled(cause: unknown): Problem {
  return new Problem(
    'metrics_unavailable',
    'The metrics store is disabled. `svc top` still shows the pods. A platform admin can enable it with `svc platform enable metrics-store`.',
    { cause },
  );
}

function unavailable(reason: string, cause?: unknown): Problem {
  return new Problem(
    'metrics_unavailable',
    `${reason} \`svc top\` still shows the pods. Ask a platform admin to check the metrics store with \`svc status\`.`,
    { cause },
  );
}
