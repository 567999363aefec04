import type { Logger } from 'pino';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { restartsOf, type Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { appLabel, systemNamespace } from '../../../runtime/domain/labels.ts';
import { readBytes } from '../../../runtime/domain/read-bytes.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { collectSeconds } from '../../../runtime/metrics/metrics-store.ts';
import { createPeriodicTask, type PeriodicTask } from '../../../runtime/process/periodic-task.ts';

/** The processes that export metrics of workloads, or metrics from which alerts are made. */
const scraped = ['svc-controllers', 'svc-interceptor', 'svc-workers', 'svc-authz'];
const timeoutMs = 5_000;
/** More of a process's metrics is not read. */
const textMax = 16 * 1024 * 1024;

/** What is collected from. */
interface ScrapeTarget {
  /** Stays the same when the process restarts. */
  name: string;
  /** Identifies one life of the process: after a restart, its counters begin again. */
  life: string;
}

/** Takes what is collected. */
export interface ScrapeSink {
  /** @param targets all that are collected from this time; others are gone */
  begin(targets: readonly ScrapeTarget[]): void;
  /** @param text in Prometheus's text format @param at in seconds */
  add(target: ScrapeTarget, text: string, at: number): void;
  /** A target did not answer. */
  fail(target: ScrapeTarget): void;
  end(at: number): void;
}

/** A part of this process that has metrics. */
export interface Source {
  name: string;
  /** In Prometheus's text format; undefined when there are none now. */
  metrics(): Promise<string | undefined> | string;
}

/** Collects metrics every 15 seconds, at times that are multiples of it. */
export function createScraper(options: {
  kube: Pick<KubeClient, 'list'>;
  sources: readonly Source[];
  sink: ScrapeSink;
  clock: Clock;
  log: Logger;
}): PeriodicTask {
  const { kube, sources, sink, clock, log } = options;
  const collect = async (at: number, signal: AbortSignal) => {
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace: systemNamespace });
    const pods = items.filter(({ metadata }) => scraped.includes(metadata.labels?.[appLabel] ?? ''));
    const targets = [
      ...sources.map((source) => ({
        target: { name: source.name, life: source.name },
        metrics: async () => source.metrics(),
      })),
      ...pods.flatMap((pod) => {
        const url = urlOf(pod);
        const target = { name: pod.metadata.name, life: lifeOf(pod) };
        return url === undefined ? [] : [{ target, metrics: () => fetchText(url, signal) }];
      }),
    ];
    sink.begin(targets.map(({ target }) => target));
    await Promise.all(
      targets.map(async ({ target, metrics }) => {
        try {
          const text = await metrics();
          if (text !== undefined) sink.add(target, text, at);
        } catch (error) {
          sink.fail(target);
          log.debug({ err: error, target: target.name }, 'no metrics');
        }
      }),
    );
    sink.end(at);
  };

  const periodMs = collectSeconds * 1000;
  return createPeriodicTask({
    clock,
    pauseMs: () => periodMs - (clock.now().getTime() % periodMs),
    pauseFirst: true,
    run: (signal) => collect(Math.round(clock.now().getTime() / periodMs) * collectSeconds, signal),
    onError: (error) => log.warn({ err: error }, 'metrics not collected'),
  });
}

/** One life of the pod's process: after a restart, its counters begin again. */
function lifeOf(pod: Stored<Pod>): string {
  return `${pod.metadata.uid} ${restartsOf(pod)}`;
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
  const bytes = await readBytes(response.body, textMax, () => new Error('the process has too many metrics'));
  return bytes.toString('utf8');
}
