import type { AnyMetrics } from '../../../../runtime/contracts/api/metrics.ts';
import { bytes, figure } from '../environment/rows.ts';
import type { metricText } from '../text/metrics.ts';

type FigureName = keyof typeof metricText.figures;

/** A chart of figures with the same unit. */
export interface ChartKind {
  name: keyof typeof metricText.charts;
  figures: readonly FigureName[];
  /** A value with its unit. */
  show: (value: number) => string;
  /** Possible distances of the lines of the grid; the default ones are decimal. */
  steps?: number[];
}

const plain = (value: number) => figure(value) ?? '';
const wholeSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000];
const binarySteps = Array.from({ length: 50 }, (_, power) => 2 ** power);

/** All charts, in the order in which a page shows them. */
const charts: readonly ChartKind[] = [
  { name: 'requests', figures: ['requestsPerSecond', 'errorsPerSecond'], show: plain },
  { name: 'latency', figures: ['latencyP50Seconds', 'latencyP95Seconds', 'latencyP99Seconds'], show: secondsText },
  { name: 'coldStarts', figures: ['coldStarts'], show: plain, steps: wholeSteps },
  { name: 'cpu', figures: ['cpuCores'], show: plain },
  { name: 'memory', figures: ['memoryBytes'], show: (value) => bytes(value) ?? '', steps: binarySteps },
  { name: 'replicas', figures: ['replicas', 'readyReplicas'], show: plain, steps: wholeSteps },
  { name: 'restarts', figures: ['restarts', 'oomKills'], show: plain, steps: wholeSteps },
];

/** The charts for which the API sends figures: jobs and services have no requests, and only functions have cold starts. */
export function chartsOf({ figures }: Pick<AnyMetrics, 'figures'>): readonly ChartKind[] {
  return charts.filter((chart) => chart.figures.every((name) => figures[name] !== undefined));
}

/** The times of a chart in seconds, and then the values of each of its figures at these times. */
export type Columns = [times: number[], ...values: (number | null)[][]];

/** The values of a chart. */
export function columnsOf(chart: ChartKind, { from, stepSeconds, figures }: AnyMetrics): Columns {
  const values = chart.figures.map((name) => figures[name] ?? []);
  const count = Math.max(0, ...values.map((column) => column.length));
  const start = Date.parse(from) / 1000;
  return [Array.from({ length: count }, (_, index) => start + index * stepSeconds), ...values];
}

/** Whether a chart has a value at all. */
export function hasValues([, ...values]: Columns): boolean {
  return values.some((column) => column.some((value) => value !== null));
}

/** `12 ms`, `1.5 s` */
export function secondsText(seconds: number): string {
  return seconds < 1 ? `${plain(seconds * 1000)} ms` : `${plain(seconds)} s`;
}

/** The highest value of an axis that begins at 0: a tenth above the data, so that no line touches the edge. */
export function topOf(highest: number | null): number {
  return highest === null || highest <= 0 ? 1 : highest * 1.1;
}

/** The indexes of values without a value on either side: a line does not show them. */
export function isolatedOf(values: ArrayLike<number | null | undefined>): number[] {
  const isGap = (index: number) => (values[index] ?? null) === null;
  return Array.from(values, (_, index) => index).filter(
    (index) => !isGap(index) && isGap(index - 1) && isGap(index + 1),
  );
}

/** Of marks in a chart, those whose label has room: the newest of each group of close ones. */
export function labelledOf<Mark extends { x: number; width: number }>(marks: readonly Mark[]): Mark[] {
  const labelled: Mark[] = [];
  for (const mark of marks.toSorted((a, b) => b.x - a.x)) {
    const next = labelled.at(-1);
    if (!next || mark.x + mark.width <= next.x) labelled.push(mark);
  }
  return labelled;
}
