import type { Logger } from 'pino';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { UsageState } from '../../runtime/contracts/platform-state.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { kindLabel } from '../../runtime/domain/labels.ts';
import { parseBytes } from '../../runtime/domain/quantity.ts';
import type { Informer } from '../../runtime/kube/informer.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { workloadOf, type MetricWorkload } from '../../runtime/metrics/workload-of.ts';
import { createPeriodicTask, type PeriodicTask } from '../../runtime/process/periodic-task.ts';

/** What one workload uses. */
export interface WorkloadUsage extends MetricWorkload {
  /** Since this process has started. */
  cpuSeconds: number;
  memoryBytes: number;
}

/** https://kubernetes.io/docs/reference/external-api/metrics.v1beta1/ */
interface PodMetrics extends KubeObject {
  containers: { name: string; usage: { cpu?: string; memory?: string } }[];
}

const periodMs = 15_000;
/** How long to wait for a cluster that has no metrics API, or refuses to answer. */
const absentMs = 300_000;
/** After a longer pause, nothing is known about the time between. */
const gapMs = 60_000;

/** Asks the metrics API what pods use. */
export interface UsagePoll extends PeriodicTask {
  /** The workloads whose pods the last answer contained. */
  usage(): WorkloadUsage[];
  /** What the last question led to; undefined before the first answer. */
  state(): UsageState | undefined;
}

/** Needs only the right to list usage, which shows nothing else (decision 0063). */
export function createUsagePoll(options: {
  kube: Pick<KubeClient, 'list'>;
  pods: Pick<Informer<Pod>, 'get'>;
  clock: Clock;
  log: Logger;
  /** The most workloads. */
  max: number;
}): UsagePoll {
  const { kube, pods, clock, log, max } = options;
  let current = new Map<string, WorkloadUsage>();
  let polledAt: number | undefined;
  let pauseMs = periodMs;
  let state: UsageState | undefined;

  const poll = async () => {
    const { items } = await kube.list<PodMetrics>(kinds.PodMetrics, { labelSelector: kindLabel });
    const now = clock.monotonic();
    const elapsed = polledAt === undefined || now - polledAt > gapMs ? 0 : (now - polledAt) / 1000;
    polledAt = now;
    const next = new Map<string, WorkloadUsage>();
    for (const { metadata, containers } of items) {
      const workload = workloadOf(pods.get(metadata.name, metadata.namespace)?.metadata ?? metadata);
      if (!workload) continue;
      const key = `${workload.namespace}/${workload.kind}/${workload.name}`;
      if (!next.has(key) && next.size >= max) continue;
      const cpuSeconds = current.get(key)?.cpuSeconds ?? 0;
      const entry = next.get(key) ?? { ...workload, cpuSeconds, memoryBytes: 0 };
      next.set(key, entry);
      for (const { usage } of containers) {
        entry.cpuSeconds += coresOf(usage.cpu ?? '') * elapsed;
        entry.memoryBytes += parseBytes(usage.memory ?? '') ?? 0;
      }
    }
    current = next;
  };

  const task = createPeriodicTask({
    clock,
    pauseMs: () => pauseMs,
    async run() {
      await poll();
      state = 'available';
      pauseMs = periodMs;
    },
    onError(error) {
      current = new Map();
      state = isKubeError(error, 404) ? 'absent' : isKubeError(error, 403) ? 'refused' : 'failing';
      pauseMs = state === 'failing' ? periodMs : absentMs;
      log.debug({ err: error }, 'no usage from the metrics API');
    },
  });
  return { ...task, usage: () => [...current.values()], state: () => state };
}

const units: Readonly<Record<string, number>> = { n: 1e-9, u: 1e-6, m: 1e-3, '': 1 };

/** Cores of a quantity such as `12345n`; 0 for anything else. Pure. */
export function coresOf(quantity: string): number {
  const [, number, unit = ''] = /^(\d{1,15}(?:\.\d{1,9})?)([num]?)$/.exec(quantity) ?? [];
  return number === undefined ? 0 : Number(number) * (units[unit] ?? 0);
}
