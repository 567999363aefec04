import { existsSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { systemNamespace } from '../../../runtime/domain/labels.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { createCollector } from '../../../runtime/metrics/collector.ts';
import type { PeriodicTask } from '../../../runtime/process/periodic-task.ts';
import { createRingStore } from '../../../runtime/metrics/ring-store.ts';
import { openRing, type Ring } from '../../../runtime/metrics/ring.ts';
import { createLocalAlerts } from '../alerts/alerts.ts';
import { openSilences } from '../alerts/silences.ts';
import type { LocalStore } from '../stores.ts';
import { askers, createRingServer, type Answers } from './ring-server.ts';
import { createScraper, type ScrapeSink, type Source } from './scraper.ts';
import { createTokenVerifier } from './token-verifier.ts';

/** The metrics of the embedded cluster: a ring on disk, what fills it, alerts, and a server for processes of the platform. */
export interface LocalMetrics extends LocalStore {
  /**
   * Starts the server, which refuses until the store is enabled, so that no pod can take its port.
   * @returns its port @throws Error when the port is in use
   */
  start(): Promise<number>;
  stop(): Promise<void>;
}

/** @param options.file the ring's file @param options.port 0 selects a free port */
export function createLocalMetrics(options: {
  kube: KubeClient;
  /** Reviews tokens. */
  reviews: Pick<KubeClient, 'create'>;
  sources: readonly Source[];
  file: string;
  port: number;
  clock: Clock;
  log: Logger;
}): LocalMetrics {
  const { kube, reviews, sources, file, port, clock } = options;
  const log = options.log.child({ part: 'metrics' });
  /** Undefined while it is disabled. */
  let running: (Answers & { ring: Ring; scraper: PeriodicTask }) | undefined;
  const silences = openSilences(join(dirname(file), 'silences.json'), () => clock.now());
  const verify = createTokenVerifier({ kube: reviews, clock, namespace: systemNamespace, serviceAccounts: askers });
  const server = createRingServer({ answers: () => running, verify, log });
  const disable = async () => {
    const last = running;
    running = undefined;
    await last?.scraper.stop();
    last?.ring.close();
  };
  return {
    start: () => server.start(port),
    async stop() {
      await server.stop();
      await disable();
    },
    async enable() {
      if (running) return;
      const ring = openAnyway(file, log);
      const store = createRingStore({ ring, now: () => Math.floor(clock.now().getTime() / 1000) });
      const alerts = createLocalAlerts();
      const collector = createCollector(ring);
      const sink: ScrapeSink = {
        begin(targets) {
          collector.keep(targets.map(({ life }) => life));
          alerts.keep(targets);
        },
        add(target, text, at) {
          collector.add(target.life, text, at);
          alerts.add(target, text, at);
        },
        fail: (target) => alerts.remove(target),
        end: (at) => alerts.evaluate(at),
      };
      const scraper = createScraper({ kube, sources, sink, clock, log });
      running = { ring, store, scraper, alerts, silences };
      scraper.start();
    },
    disable,
    hasData: () => existsSync(file),
    deleteData: () => rm(file, { recursive: true, force: true }),
  };
}

/** Opens the ring; a file that cannot be read is replaced, since the platform has to start without old metrics, too. */
function openAnyway(file: string, log: Logger): Ring {
  try {
    return openRing({ path: file });
  } catch (error) {
    log.error({ err: error, file }, 'the ring of metrics cannot be read; starting with an empty one');
    rmSync(file, { recursive: true, force: true });
    return openRing({ path: file });
  }
}
