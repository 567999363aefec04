import { rmSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { systemNamespace } from '../../../runtime/domain/labels.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { createCollector } from '../../../runtime/metrics/collector.ts';
import { createRingStore } from '../../../runtime/metrics/ring-store.ts';
import { openRing, type Ring } from '../../../runtime/metrics/ring.ts';
import { createRingServer } from './ring-server.ts';
import { createScraper, type Source } from './scraper.ts';
import { createTokenVerifier } from './token-verifier.ts';

/** The metrics of the embedded cluster: a ring on disk, what fills it, and a server for console-api. */
export interface LocalMetrics {
  /** @returns the server's port @throws Error when the port is in use */
  start(): Promise<number>;
  stop(): Promise<void>;
}

/** @param options.file the ring's file @param options.port 0 selects a free port */
export function createLocalMetrics(options: {
  kube: KubeClient;
  sources: readonly Source[];
  file: string;
  port: number;
  clock: Clock;
  log: Logger;
}): LocalMetrics {
  const { kube, sources, file, port, clock } = options;
  const log = options.log.child({ part: 'metrics' });
  const ring = openAnyway(file, log);
  const store = createRingStore({ ring, now: () => Math.floor(clock.now().getTime() / 1000) });
  const verify = createTokenVerifier({ kube, clock, namespace: systemNamespace, serviceAccount: 'console-api' });
  const server = createRingServer({ store, verify, log });
  const scraper = createScraper({ kube, sources, collector: createCollector(ring), clock, log });
  return {
    async start() {
      const serverPort = await server.start(port);
      scraper.start();
      return serverPort;
    },
    async stop() {
      await scraper.stop();
      await server.stop();
      ring.close();
    },
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
