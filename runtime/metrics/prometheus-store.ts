import { z } from 'zod';
import { withoutGaps } from './errors-figure.ts';
import { figureNames, figuresOf, metricKinds, type FigureName } from './figures.ts';
import {
  historyFigures,
  rangeOf,
  timesOf,
  type MetricsStore,
  type MetricsWindow,
  type MetricValue,
  type WorkloadHistory,
  type WorkloadMoment,
} from './metrics-store.ts';
import { figureLabel, ingressQuery, ingressStateQuery, namespaceQuery, workloadQuery } from './promql.ts';
import { requestJson, type RequestLimits } from './store-request.ts';

/** A number as Prometheus writes it: `"0.5"`, `"NaN"`, `"+Inf"`. */
const point = z.tuple([z.number(), z.string().max(64)]);
const labels = z.record(z.string(), z.string());
const matrix = z.object({
  status: z.literal('success'),
  data: z.object({
    resultType: z.literal('matrix'),
    result: z.array(z.object({ metric: labels, values: z.array(point) })),
  }),
});
const vector = z.object({
  status: z.literal('success'),
  data: z.object({ resultType: z.literal('vector'), result: z.array(z.object({ metric: labels, value: point })) }),
});

/**
 * A MetricsStore on a server with Prometheus's HTTP API, such as Prometheus or VictoriaMetrics.
 * https://prometheus.io/docs/prometheus/latest/querying/api/
 * @param options.url without a trailing slash
 */
export function createPrometheusStore({ url, limits }: { url: string; limits?: RequestLimits }): MetricsStore {
  const ask = <T>(
    path: string,
    parameters: Record<string, string>,
    schema: z.ZodType<T>,
    signal?: AbortSignal,
  ): Promise<T> => {
    const body = new URLSearchParams({ ...parameters, timeout: '10s' });
    return requestJson(`${url}/api/v1/${path}`, schema, { body, ...(limits && { limits }) }, signal);
  };

  return {
    async workload(target, window, signal) {
      const times = timesOf(window);
      const parameters = {
        query: workloadQuery(target, window),
        start: String(window.from),
        end: String(window.to),
        step: String(window.step),
      };
      const { data } = await ask('query_range', parameters, matrix, signal);
      const figures: Partial<Record<FigureName, MetricValue[]>> = Object.fromEntries(
        figuresOf(target.kind).map((name) => [name, times.map(() => null)]),
      );
      for (const { metric, values } of data.result) {
        const figure = metric[figureLabel] as FigureName;
        if (figures[figure]) figures[figure] = rowOf(times, window, values);
      }
      return { times, figures: withoutGaps(figures) };
    },
    async namespace(namespace, at, apps = [], signal) {
      const time = String(at);
      const services = apps.flatMap(({ ingressServices = [] }) => ingressServices);
      const [own, ingress] = await Promise.all([
        ask('query', { query: namespaceQuery(namespace), time }, vector, signal),
        services.length === 0 ? undefined : ask('query', { query: ingressQuery(services), time }, vector, signal),
      ]);
      const moments = new Map<string, WorkloadMoment>();
      const put = (kind: string | undefined, name: string | undefined, figure: string | undefined, text: string) => {
        const knownKind = metricKinds.find((word) => word === kind);
        const knownFigure = figureNames.find((word) => word === figure);
        if (!knownKind || !knownFigure || name === undefined) return;
        const key = `${knownKind}/${name}`;
        const moment = moments.get(key) ?? { kind: knownKind, name, figures: {} };
        moment.figures[knownFigure] ??= valueOf(text);
        moments.set(key, moment);
      };
      for (const { metric, value } of own.data.result)
        put(metric['kind'], metric['name'], metric[figureLabel], value[1]);
      for (const { metric, value } of ingress?.data.result ?? []) {
        const app = apps.find(({ ingressServices = [] }) => ingressServices.includes(metric['service'] ?? ''));
        put('app', app?.name, metric[figureLabel], value[1]);
      }
      return [...moments.values()].map(filled);
    },
    async history(namespace, window, apps = [], signal) {
      const services = apps.flatMap(({ ingressServices = [] }) => ingressServices);
      const range = rangeOf(window);
      const askRange = (query: string) =>
        ask(
          'query_range',
          { query, start: String(window.from), end: String(window.to), step: String(window.step) },
          matrix,
          signal,
        );
      const [own, ingress] = await Promise.all([
        askRange(namespaceQuery(namespace, historyFigures, range)),
        services.length === 0 ? undefined : askRange(ingressQuery(services, historyFigures, range)),
      ]);
      const times = timesOf(window);
      const histories = new Map<string, WorkloadHistory>();
      const put = (kind: string | undefined, name: string | undefined, figure: string | undefined, values: Points) => {
        const knownKind = metricKinds.find((word) => word === kind);
        const knownFigure = historyFigures.find((word) => word === figure);
        if (!knownKind || !knownFigure || name === undefined) return;
        const key = `${knownKind}/${name}`;
        const history = histories.get(key) ?? { kind: knownKind, name, figures: {} };
        history.figures[knownFigure] ??= rowOf(times, window, values);
        histories.set(key, history);
      };
      for (const { metric, values } of own.data.result)
        put(metric['kind'], metric['name'], metric[figureLabel], values);
      for (const { metric, values } of ingress?.data.result ?? []) {
        const app = apps.find(({ ingressServices = [] }) => ingressServices.includes(metric['service'] ?? ''));
        put('app', app?.name, metric[figureLabel], values);
      }
      return [...histories.values()];
    },
    async ingress(signal) {
      const { data } = await ask('query', { query: ingressStateQuery }, vector, signal);
      const states = data.result.map(({ metric }) => metric[figureLabel]);
      return (['on', 'down'] as const).find((state) => states.includes(state)) ?? 'missing';
    },
  };
}

type Points = z.infer<typeof point>[];

/** A value for each time of a window; null where there is none. */
function rowOf(times: readonly number[], { from, step }: MetricsWindow, values: Points): MetricValue[] {
  const row: MetricValue[] = times.map(() => null);
  for (const [time, text] of values) {
    const index = Math.round((time - from) / step);
    if (index >= 0 && index < row.length) row[index] = valueOf(text);
  }
  return row;
}

function valueOf(text: string): MetricValue {
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

/** A moment with every figure of its kind. */
function filled({ kind, name, figures }: WorkloadMoment): WorkloadMoment {
  const all = figuresOf(kind).map((figure) => [figure, [figures[figure] ?? null]]);
  const complete = Object.entries(withoutGaps(Object.fromEntries(all)));
  return { kind, name, figures: Object.fromEntries(complete.map(([figure, [value = null]]) => [figure, value])) };
}
