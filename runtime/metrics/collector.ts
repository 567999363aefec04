import { samplesIn, type Sample } from './exposition.ts';
import { metricKinds, workloadMetrics } from './figures.ts';
import type { Ring, SeriesId } from './ring.ts';

/** What the ring takes from a process. */
const readers: Readonly<Record<string, { type: 'counter' | 'gauge'; part: (labels: Sample['labels']) => string }>> = {
  [workloadMetrics.requests]: { type: 'counter', part: ({ code = '' }) => code },
  [`${workloadMetrics.duration}_bucket`]: { type: 'counter', part: ({ le = '' }) => le },
  [workloadMetrics.coldStarts]: { type: 'counter', part: none },
  [workloadMetrics.cpu]: { type: 'counter', part: none },
  [workloadMetrics.memory]: { type: 'gauge', part: none },
  [workloadMetrics.replicas]: { type: 'gauge', part: none },
  [workloadMetrics.readyReplicas]: { type: 'gauge', part: none },
  [workloadMetrics.restarts]: { type: 'counter', part: none },
  [workloadMetrics.oomKills]: { type: 'counter', part: none },
};

const nameShape = /^[a-z0-9-]{1,63}$/;
const partShape = /^(?:[0-9][0-9a-z.+-]{0,15}|\+Inf)?$/;
/** More samples of one process are ignored. */
const samplesMax = 100_000;

/** Puts the samples of processes into a ring. */
export interface Collector {
  /**
   * Adds what a process exported for a time in seconds. The first values of a process are only the base of later
   * increases.
   * @param target identifies one life of the process
   */
  add(target: string, text: string, at: number): void;
  /** Forgets the processes that are not in the list. */
  keep(targets: readonly string[]): void;
}

export function createCollector(ring: Ring): Collector {
  /** The last value of each counter, by process. */
  const lives = new Map<string, Map<string, number>>();
  return {
    add(target, text, at) {
      const before = lives.get(target);
      const values = new Map<string, number>();
      let samples = 0;
      for (const { metric, labels, value } of samplesIn(text, (name) => Object.hasOwn(readers, name))) {
        if (++samples > samplesMax) break;
        const reader = readers[metric];
        const id = reader && seriesOf(metric, labels, reader.part(labels));
        if (!reader || !id) continue;
        if (reader.type === 'gauge') {
          ring.add(id, 'gauge', at, value);
          continue;
        }
        const key = `${id.namespace}\n${id.kind}\n${id.name}\n${metric}\n${id.part}`;
        values.set(key, value);
        if (!before) continue;
        // A counter that was not there before begins at zero, as does one that is lower than before.
        const base = before.get(key) ?? 0;
        ring.add(id, 'counter', at, value >= base ? value - base : value);
      }
      lives.set(target, values);
    },
    keep(targets) {
      for (const target of lives.keys()) if (!targets.includes(target)) lives.delete(target);
    },
  };
}

function none(): string {
  return '';
}

/** The series of a sample; undefined for labels that no workload of the platform has. */
function seriesOf(metric: string, { namespace, kind, name }: Sample['labels'], part: string): SeriesId | undefined {
  if (namespace === undefined || name === undefined || !nameShape.test(namespace) || !nameShape.test(name)) {
    return undefined;
  }
  if (!metricKinds.some((word) => word === kind) || kind === undefined || !partShape.test(part)) return undefined;
  const stored = metric.endsWith('_bucket') ? metric.slice(0, -'_bucket'.length) : metric;
  return { namespace, kind, name, metric: stored, part };
}
