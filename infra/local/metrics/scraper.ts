import type { Logger } from 'pino';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { appLabel, systemNamespace } from '../../../runtime/domain/labels.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { Collector } from '../../../runtime/metrics/collector.ts';
import { collectSeconds } from '../../../runtime/metrics/metrics-store.ts';

/** The processes that export metrics of workloads. */
const scraped = ['svc-controllers', 'svc-interceptor'];
const timeoutMs = 5_000;
/** More of a process's metrics is not read. */
const textMax = 16 * 1024 * 1024;

/** A part of this process that has metrics of workloads. */
export interface Source {
  name: string;
  /** In Prometheus's text format; undefined when there are none now. */
  metrics(): Promise<string | undefined> | string;
}

/** Collects the metrics of workloads every 15 seconds, at times that are multiples of it. */
export interface Scraper {
  start(): void;
  stop(): Promise<void>;
}

export function createScraper(options: {
  kube: Pick<KubeClient, 'list'>;
  sources: readonly Source[];
  collector: Collector;
  clock: Clock;
  log: Logger;
}): Scraper {
  const { kube, sources, collector, clock, log } = options;
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  const collect = async (at: number) => {
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace: systemNamespace });
    const pods = items.filter(({ metadata }) => scraped.includes(metadata.labels?.[appLabel] ?? ''));
    const targets = [
      ...sources.map((source) => ({ target: source.name, metrics: async () => source.metrics() })),
      ...pods.flatMap((pod) => {
        const url = urlOf(pod);
        return url === undefined ? [] : [{ target: lifeOf(pod), metrics: () => fetchText(url, stopping.signal) }];
      }),
    ];
    collector.keep(targets.map(({ target }) => target));
    await Promise.all(
      targets.map(async ({ target, metrics }) => {
        try {
          const text = await metrics();
          if (text !== undefined) collector.add(target, text, at);
        } catch (error) {
          log.debug({ err: error, target }, 'no metrics');
        }
      }),
    );
  };

  const run = async () => {
    const periodMs = collectSeconds * 1000;
    while (!stopping.signal.aborted) {
      const now = clock.now().getTime();
      await clock.sleep(periodMs - (now % periodMs), stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) break;
      const at = Math.round(clock.now().getTime() / periodMs) * collectSeconds;
      await collect(at).catch((error: unknown) => log.warn({ err: error }, 'metrics not collected'));
    }
  };

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort(new Error('the process stops'));
      await running;
    },
  };
}

/** One life of the pod's process: after a restart, its counters begin again. */
function lifeOf({ metadata: { uid }, status }: Stored<Pod>): string {
  const restarts = status?.containerStatuses?.reduce((sum, { restartCount }) => sum + restartCount, 0) ?? 0;
  return `${uid} ${restarts}`;
}

function urlOf({ spec, status }: Stored<Pod>): string | undefined {
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  const admin = ports.find(({ name }) => name === 'admin')?.containerPort;
  const { podIP, phase } = status ?? {};
  return admin === undefined || podIP === undefined || phase !== 'Running'
    ? undefined
    : `http://${podIP}:${admin}/metrics`;
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  if (!response.ok) throw new Error(`the process responded with ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > textMax) throw new Error('the process has too many metrics');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
