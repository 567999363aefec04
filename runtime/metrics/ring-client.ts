import type { z } from 'zod';
import type { MetricsStore } from './metrics-store.ts';
import { historyAnswer, namespaceAnswer, ringPaths, workloadAnswer } from './ring-protocol.ts';
import { requestJson } from './store-request.ts';

/**
 * The MetricsStore of the embedded cluster, whose ring is in another process.
 * @param options.token returns the token of this process's service account, which the server verifies
 */
export function createRingClient({ url, token }: { url: string; token: () => Promise<string> }): MetricsStore {
  const ask = async <T>(path: string, question: object, schema: z.ZodType<T>, signal?: AbortSignal): Promise<T> => {
    const headers = { Authorization: `Bearer ${await token()}`, 'Content-Type': 'application/json' };
    return requestJson(url + path, schema, { body: JSON.stringify(question), headers }, signal);
  };
  return {
    async workload({ namespace, kind, name }, window, signal) {
      const { times, figures } = await ask(
        ringPaths.workload,
        { namespace, kind, name, window },
        workloadAnswer,
        signal,
      );
      return { times, figures };
    },
    history: (namespace, window, _, signal) => ask(ringPaths.history, { namespace, window }, historyAnswer, signal),
    namespace: (namespace, at, _, signal) => ask(ringPaths.namespace, { namespace, at }, namespaceAnswer, signal),
    // The ingress of the embedded cluster always counts requests.
    ingress: () => Promise.resolve('on'),
  };
}
