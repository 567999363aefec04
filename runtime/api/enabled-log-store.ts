import type { Logger } from 'pino';
import { isEnabled } from '../contracts/resources/monitoring.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { LogStoreDisabled, type LogReader } from '../logs/log-store.ts';
import { readSettingsIfAny } from '../workloads/platform-config.ts';

/**
 * A reader whose failures say whether an admin has disabled the store. The settings are read after a failure only. Other
 * failures are logged, since clients only learn that there was one.
 */
export function enabledLogStore(
  store: LogReader,
  { kube, log }: { kube: Pick<KubeClient, 'get'>; log: Logger },
): LogReader {
  const warn = (error: unknown, signal: AbortSignal | undefined) => {
    if (!signal?.aborted) log.warn({ err: error }, 'the log store cannot be read');
  };
  async function* logged<Item>(batches: AsyncGenerator<Item>, signal: AbortSignal | undefined): AsyncGenerator<Item> {
    try {
      yield* batches;
    } catch (error) {
      warn(error, signal);
      throw error;
    }
  }
  return {
    async read(query, signal) {
      try {
        const answer = await store.read(query, signal);
        return { ...answer, batches: logged(answer.batches, signal) };
      } catch (error) {
        const settings = await readSettingsIfAny(kube).catch(() => undefined);
        if (settings?.monitoring && !isEnabled('log-store', settings)) throw new LogStoreDisabled();
        warn(error, signal);
        throw error;
      }
    },
  };
}
