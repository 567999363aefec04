import type { Test } from 'tap';
import type { KeyPair } from '../../../infra/local/apiserver/certificate.ts';
import { parseKeyRing, seal } from '../../../runtime/domain/sealed.ts';
import { logDrainContext, type LogDrainFormat } from '../../../runtime/domain/log-drain.ts';
import type { LogFeed } from '../../../runtime/logs/feed.ts';
import type { LogStore } from '../../../runtime/logs/log-store.ts';
import { createMetrics } from '../../../runtime/process/metrics.ts';
import { logDrainId } from '../../../runtime/queues/catalogue.ts';
import { findLogDrain, setLogDrain, type LogDrain } from '../../../runtime/records/log-drain.ts';
import { createLogDrainMetrics } from '../../../workers/log-drain/metrics.ts';
import { createLogDrainProcessor, type LogDrainDependencies } from '../../../workers/log-drain/process.ts';
import { startStore } from '../../runtime/logs/rig.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { startLogReceiver } from '../../support/log-receiver.ts';
import { platformConfigObject, settings } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';
import { attemptOf } from '../notifications/notification-world.ts';
import { testKeys } from '../rollouts/worker-world.ts';

/** A clock whose pauses take no time, so that a step of the drain reads what there is and ends. */
function impatientClock() {
  let skipped = 0;
  return {
    now: () => new Date(),
    monotonic: () => systemClock.monotonic() + skipped,
    sleep: (ms: number) => {
      skipped += ms;
      return Promise.resolve();
    },
  };
}

/** A log store, a receiver on loopback, and a processor between them. */
export async function drainWorld(
  t: Test,
  options: Partial<LogDrainDependencies> & { store?: LogStore; networks?: string[]; tls?: KeyPair } = {},
) {
  const { store = await startStore(t), networks = ['127.0.0.0/8'], tls, ...others } = options;
  const kube = fakeKube();
  kube.seed(platformConfigObject);
  const { pool } = await testDatabase(t);
  const keyRing = parseKeyRing(testKeys);
  const receiver = await startLogReceiver(t, { tls });
  const registry = createMetrics();
  const recorded = recordingLog();
  const process = createLogDrainProcessor({
    pool,
    kube,
    keyRing,
    clock: impatientClock(),
    feed: store satisfies LogFeed,
    metrics: createLogDrainMetrics(registry, pool),
    failpoint: () => undefined,
    ...others,
  });
  const current = async (): Promise<LogDrain> => {
    const drain = await findLogDrain(pool);
    if (!drain) throw new Error('there is no drain');
    return drain;
  };
  return {
    pool,
    store,
    receiver,
    entries: () => recorded.entries,
    metrics: () => registry.metrics(),
    current,
    /** Sets the installation's CA certificates. */
    trust: (caCertificates: string) => kube.seed({ ...platformConfigObject, spec: { ...settings, caCertificates } }),
    kube,
    set: (format: LogDrainFormat, headers: Record<string, string> = {}, url = `${receiver.url}/push`) =>
      setLogDrain(pool, {
        url,
        format,
        networks,
        headerNames: Object.keys(headers),
        headers: seal(keyRing, logDrainContext(logDrainId), JSON.stringify(headers)),
      }),
    /** Runs a step, as the runner does. @returns after how many seconds the next one is due */
    step: async () => {
      const before = Date.now();
      const outcome = await process(attemptOf(logDrainId, { log: recorded.log }));
      if (outcome === 'done') throw new Error('it is done');
      return (outcome.again.getTime() - before) / 1000;
    },
  };
}
