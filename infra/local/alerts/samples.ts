import { samplesIn } from '../../../runtime/metrics/exposition.ts';

/** A value with its labels. */
export interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** A process or a part of one, by a name that stays the same when it restarts. */
interface Target {
  name: string;
}

/** The samples that the alert rules read: those of the last collection, and former values of what they compare. */
export interface AlertSamples {
  /** Takes what a target exported at a time in seconds, in place of what it exported before. */
  add(target: Target, text: string, at: number): void;
  /** Forgets the last samples of a target that does not answer. */
  remove(target: Target): void;
  /** Forgets the targets that are not in the list. */
  keep(targets: readonly Target[]): void;
  /** The last samples of a metric. */
  latest(metric: string): Sample[];
  /** How much each series of a metric has changed within the last seconds; none for one that was collected once. */
  changes(metric: string, how: 'increase' | 'delta', seconds: number, at: number): Sample[];
}

/** Former values are kept this far apart. */
const spacingSeconds = 60;
/** Series of one metric and namespace. Users decide how many workloads they have. */
const perNamespaceMax = 200;

/** One series with its former values; a counter's are added up over restarts. */
interface History {
  labels: Sample['labels'];
  /** The counter's last value, which may begin again at zero. */
  raw: number;
  points: { at: number; value: number; total: number }[];
}

/** @param metrics the metrics that the rules read, with the seconds for which former values are needed */
export function createAlertSamples(metrics: ReadonlyMap<string, number>): AlertSamples {
  /** By target and metric. */
  const targets = new Map<string, Map<string, Sample[]>>();
  const histories = new Map<string, Map<string, History>>();

  const remember = (metric: string, { labels, value }: Sample, at: number) => {
    const seconds = metrics.get(metric) ?? 0;
    if (seconds === 0) return;
    const group = histories.get(metric) ?? new Map<string, History>();
    histories.set(metric, group);
    const key = labelsKey(labels);
    const history = group.get(key) ?? { labels, raw: value, points: [] };
    group.set(key, history);
    const { points } = history;
    const last = points.at(-1);
    if (last && at <= last.at) return;
    const total = (last?.total ?? 0) + (value >= history.raw ? value - history.raw : value);
    history.raw = value;
    const former = points.at(-2);
    if (former && at - former.at < spacingSeconds) points.pop();
    points.push({ at, value, total });
    // One value from before is the base of the change.
    while ((points[1]?.at ?? Infinity) <= at - seconds) points.shift();
  };

  const forgetOld = (at: number) => {
    for (const [metric, group] of histories) {
      for (const [key, { points }] of group) {
        if ((points.at(-1)?.at ?? 0) <= at - (metrics.get(metric) ?? 0)) group.delete(key);
      }
    }
  };

  return {
    add({ name }, text, at) {
      const samples = new Map<string, Sample[]>();
      const counts = new Map<string, number>();
      for (const { metric, labels, value } of samplesIn(text, (candidate) => metrics.has(candidate))) {
        const namespace = labels['namespace'] ?? '';
        const count = (counts.get(`${metric} ${namespace}`) ?? 0) + 1;
        counts.set(`${metric} ${namespace}`, count);
        if (count > perNamespaceMax) continue;
        const sample = { labels: { ...labels, instance: name }, value };
        const list = samples.get(metric) ?? [];
        samples.set(metric, list);
        list.push(sample);
        remember(metric, sample, at);
      }
      targets.set(name, samples);
      forgetOld(at);
    },
    remove: ({ name }) => void targets.delete(name),
    keep(present) {
      const names = new Set(present.map(({ name }) => name));
      for (const name of targets.keys()) if (!names.has(name)) targets.delete(name);
    },
    latest: (metric) => [...targets.values()].flatMap((samples) => samples.get(metric) ?? []),
    changes(metric, how, seconds, at) {
      return [...(histories.get(metric)?.values() ?? [])].flatMap(({ labels, points }): Sample[] => {
        const last = points.at(-1);
        const base = points.findLast((point) => point.at <= at - seconds) ?? points[0];
        if (!last || !base || last === base) return [];
        const value = how === 'increase' ? last.total - base.total : last.value - base.value;
        return [{ labels, value }];
      });
    },
  };
}

/** Identifies a set of labels. Pure. */
export function labelsKey(labels: Sample['labels']): string {
  return JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
