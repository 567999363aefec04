import { derivationOf, figuresOf, metricKinds, type FigureName } from './figures.ts';
import {
  historyFigures,
  rangeOf,
  rateSeconds,
  timesOf,
  type MetricsStore,
  type MetricsWindow,
  type MetricValue,
  type WorkloadHistory,
} from './metrics-store.ts';
import { quantileOf } from './quantile.ts';
import { resolutions, type ResolutionIndex } from './ring-file.ts';
import type { Ring, RingSeries } from './ring.ts';
import { withoutGaps } from './errors-figure.ts';

/** The values of some series in a window, slot by slot. */
interface Slots {
  /** Seconds per slot. */
  seconds: number;
  /** The number of the first slot. */
  first: number;
  rows: { part: string; values: Float64Array }[];
}

/** A MetricsStore on a ring. @param now in seconds, which decides the resolution */
export function createRingStore({ ring, now }: { ring: Ring; now: () => number }): MetricsStore {
  const figuresIn = (
    names: readonly FigureName[],
    series: readonly RingSeries[],
    window: MetricsWindow,
  ): { times: number[]; figures: Partial<Record<FigureName, MetricValue[]>> } => {
    const byMetric = Map.groupBy(series, ({ id }) => id.metric);
    const read = (metric: string) => readSlots(ring, byMetric.get(metric) ?? [], window, now());
    const cache = new Map<string, Slots>();
    const slotsOf = (metric: string) => {
      const slots = cache.get(metric) ?? read(metric);
      cache.set(metric, slots);
      return slots;
    };
    const times = timesOf(window);
    const entries = names.map((figure): [FigureName, MetricValue[]] => {
      const slots = slotsOf(derivationOf(figure).metric);
      const range = Math.max(rangeOf(window), slots.seconds);
      return [figure, times.map((time) => valueAt(figure, slots, time, range))];
    });
    return { times, figures: withoutGaps(Object.fromEntries(entries)) };
  };

  return {
    ingress: () => Promise.resolve('on'),
    async workload({ namespace, kind, name }, window) {
      const series = ring.of(namespace).filter(({ id }) => id.kind === kind && id.name === name);
      return figuresIn(figuresOf(kind), series, window);
    },
    async namespace(namespace, at) {
      const workloads = Map.groupBy(ring.of(namespace), ({ id }) => `${id.kind}\n${id.name}`);
      const window = { from: at, to: at, step: rateSeconds };
      return [...workloads.values()].flatMap((series) => {
        const kind = metricKinds.find((word) => word === series[0]?.id.kind);
        const alive = series.some(({ lastAt }) => lastAt > at - rateSeconds);
        if (!kind || !alive) return [];
        const { figures } = figuresIn(figuresOf(kind), series, window);
        const last = Object.entries(figures).map(([figure, [value = null]]) => [figure, value]);
        return [{ kind, name: series[0]?.id.name ?? '', figures: Object.fromEntries(last) }];
      });
    },
    async history(namespace, window) {
      const workloads = Map.groupBy(ring.of(namespace), ({ id }) => `${id.kind}\n${id.name}`);
      return [...workloads.values()].flatMap((series): WorkloadHistory[] => {
        const kind = metricKinds.find((word) => word === series[0]?.id.kind);
        const alive = series.some(({ lastAt }) => lastAt > window.from);
        if (!kind || !alive) return [];
        const names = historyFigures.filter((figure) => figuresOf(kind).includes(figure));
        return [{ kind, name: series[0]?.id.name ?? '', figures: figuresIn(names, series, window).figures }];
      });
    },
  };
}

/** Reads the slots that a window needs, in a resolution that reaches back to its begin and whose slots end at its times. */
function readSlots(ring: Ring, series: readonly RingSeries[], window: MetricsWindow, now: number): Slots {
  const { from, to, step } = window;
  const begin = from - rangeOf(window);
  const reaching = [0, 1, 2].filter((index) => {
    const { seconds, slots } = resolutions[index as ResolutionIndex];
    return begin >= now - seconds * (slots - 1);
  });
  // Of those that fit, the coarsest needs the fewest reads.
  const fitting = reaching.filter((index) => {
    const { seconds } = resolutions[index as ResolutionIndex];
    return step % seconds === 0 && from % seconds === 0;
  });
  const resolution = (fitting.at(-1) ?? reaching[0] ?? 2) as ResolutionIndex;
  const { seconds } = resolutions[resolution];
  const range = Math.max(rangeOf(window), seconds);
  const first = Math.floor((from - range) / seconds) + 1;
  const count = Math.floor(to / seconds) - first + 1;
  const rows = series.map((one) => ({ part: one.id.part, values: ring.values(one, resolution, first, count) }));
  return { seconds, first, rows };
}

/** A figure at a time, from the slots that end in the `range` seconds before it. */
function valueAt(figure: FigureName, { seconds, first, rows }: Slots, time: number, range: number): MetricValue {
  const derivation = derivationOf(figure);
  const end = Math.floor(time / seconds) - first + 1;
  const begin = Math.floor((time - range) / seconds) + 1 - first;
  const sumOf = (values: Float64Array): number | undefined => {
    let sum: number | undefined;
    for (let index = Math.max(0, begin); index < end; index++) {
      const value = values[index] ?? NaN;
      if (!Number.isNaN(value)) sum = (sum ?? 0) + value;
    }
    return sum;
  };
  if (derivation.from === 'last') {
    for (let index = end - 1; index >= Math.max(0, begin); index--) {
      const present = rows.map(({ values }) => values[index] ?? NaN).filter((value) => !Number.isNaN(value));
      if (present.length > 0) return present.reduce((sum, value) => sum + value, 0);
    }
    return null;
  }
  if (derivation.from === 'quantile') {
    const buckets = rows.map(({ part, values }) => ({ bound: boundOf(part), count: sumOf(values) ?? 0 }));
    return quantileOf(derivation.quantile, buckets);
  }
  const relevant = derivation.errorsOnly ? rows.filter(({ part }) => part.startsWith('5')) : rows;
  const sums = relevant.flatMap(({ values }) => sumOf(values) ?? []);
  if (sums.length === 0) return null;
  const sum = sums.reduce((total, value) => total + value, 0);
  return derivation.from === 'rate' ? sum / range : sum;
}

function boundOf(part: string): number {
  return part === '+Inf' ? Infinity : Number(part);
}
