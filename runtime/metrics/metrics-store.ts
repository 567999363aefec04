import type { FigureName, MetricKind } from './figures.ts';

/** One workload. */
export interface MetricsTarget {
  namespace: string;
  kind: MetricKind;
  name: string;
  /** The names of its service in Traefik's metrics, for an app on a cluster whose ingress is Traefik. */
  ingressServices?: readonly string[];
}

/** The times of a query: `from`, then every `step` up to `to`, in whole seconds since 1970. */
export interface MetricsWindow {
  from: number;
  to: number;
  step: number;
}

/** A value of a figure; null when there is none for this time. */
export type MetricValue = number | null;

/** The figures of one workload, each with a value for every time. */
interface WorkloadSeries {
  /** Seconds since 1970. */
  times: number[];
  figures: Partial<Record<FigureName, MetricValue[]>>;
}

/** The figures of one workload at one time. */
export interface WorkloadMoment {
  kind: MetricKind;
  name: string;
  figures: Partial<Record<FigureName, MetricValue>>;
}

/** What the line of a workload in a list shows over time: few figures, because it is read for all workloads at once. */
export const historyFigures = ['requestsPerSecond', 'cpuCores'] as const satisfies readonly FigureName[];

/** The {@link historyFigures} of one workload, each with a value for every time. */
export interface WorkloadHistory {
  kind: MetricKind;
  name: string;
  figures: Partial<Record<(typeof historyFigures)[number], MetricValue[]>>;
}

/** Whether Traefik's metrics are in the store; `down`: it is asked for them and does not answer. */
export type IngressMetrics = 'on' | 'down' | 'missing';

/**
 * Answers questions about workloads from stored metrics. The caller decides which namespace a member may see: no
 * question reaches another one.
 */
export interface MetricsStore {
  /** @throws MetricsUnavailable */
  workload(target: MetricsTarget, window: MetricsWindow, signal?: AbortSignal): Promise<WorkloadSeries>;
  /**
   * The figures of every workload of a namespace at a time; rates are those of the last {@link rateSeconds}.
   * @param apps apps whose requests are in Traefik's metrics
   * @throws MetricsUnavailable
   */
  namespace(
    namespace: string,
    at: number,
    apps?: readonly MetricsTarget[],
    signal?: AbortSignal,
  ): Promise<WorkloadMoment[]>;
  /**
   * The {@link historyFigures} of every workload of a namespace that has a value in the window.
   * @param apps as of {@link namespace} @throws MetricsUnavailable
   */
  history(
    namespace: string,
    window: MetricsWindow,
    apps?: readonly MetricsTarget[],
    signal?: AbortSignal,
  ): Promise<WorkloadHistory[]>;
  /** Whether requests of apps can be known. @throws MetricsUnavailable */
  ingress(signal?: AbortSignal): Promise<IngressMetrics>;
}

/** The store is disabled, does not answer in time, or answers with too much. The message is for people. */
export class MetricsUnavailable extends Error {
  override readonly name = 'MetricsUnavailable';
}

/** Metrics are collected this often, in seconds. */
export const collectSeconds = 15;

/** A rate is that of at least this many seconds: four collections, so that one may fail. */
export const rateSeconds = 60;

/** The seconds over which a rate or quantile at one time is computed: a step, but no less than {@link rateSeconds}. */
export function rangeOf({ step }: Pick<MetricsWindow, 'step'>): number {
  return Math.max(step, rateSeconds);
}

/** The most values of one figure in an answer. */
export const pointsMax = 1_500;

/** The times of a window. Pure. @throws RangeError for more than {@link pointsMax} */
export function timesOf({ from, to, step }: MetricsWindow): number[] {
  const count = Math.floor((to - from) / step) + 1;
  if (!(step > 0) || !(count >= 1) || count > pointsMax) throw new RangeError('a window has 1 to 1,500 times');
  return Array.from({ length: count }, (_, index) => from + index * step);
}
