import { derivationOf, figureNames, figuresOf, workloadMetrics, type FigureName } from './figures.ts';
import { rateSeconds, rangeOf, type MetricsTarget, type MetricsWindow } from './metrics-store.ts';

/** Traefik's metrics of the services that it sends requests to, by the platform's metric. */
const traefikMetrics: Readonly<Record<string, string>> = {
  [workloadMetrics.requests]: 'traefik_service_requests_total',
  [workloadMetrics.duration]: 'traefik_service_request_duration_seconds',
};

/** The label that tells the results of one query apart. */
export const figureLabel = 'figure';

/** Names of Kubernetes objects; other names are in no query. */
const nameShape = /^[a-z0-9][a-z0-9-]{0,62}$/;
const serviceShape = /^[A-Za-z0-9@_.-]{1,300}$/;

/** One query for all figures of a workload. Pure. @throws RangeError for a name that no object can have */
export function workloadQuery(target: MetricsTarget, window: MetricsWindow): string {
  const { namespace, kind, name, ingressServices = [] } = target;
  const selector = `namespace=${quoted(namespace)},kind=${quoted(kind)},name=${quoted(name)}`;
  const range = `${rangeOf(window)}s`;
  return figuresOf(kind)
    .map((figure) => {
      const own = expression(figure, { selector, by: [], range });
      const { metric } = derivationOf(figure);
      const traefik = traefikMetrics[metric];
      if (kind !== 'app' || traefik === undefined || ingressServices.length === 0) return labelled(own, figure);
      const services = { selector: serviceSelector(ingressServices), by: [], range, metric: traefik };
      return labelled(`(${own} or ${expression(figure, services)})`, figure);
    })
    .join(' or ');
}

/**
 * One query for figures of all workloads of a namespace, by `kind` and `name`. Pure.
 * @param names default: all @param seconds of a rate @throws RangeError
 */
export function namespaceQuery(
  namespace: string,
  names: readonly FigureName[] = figureNames,
  seconds = rateSeconds,
): string {
  const selector = `namespace=${quoted(namespace)}`;
  const by = ['kind', 'name'];
  return names
    .map((figure) => labelled(expression(figure, { selector, by, range: `${seconds}s` }), figure))
    .join(' or ');
}

/** One query for the latest figures of requests in Traefik's metrics, by `service`. Pure. @throws RangeError */
export function ingressQuery(
  services: readonly string[],
  names: readonly FigureName[] = figureNames,
  seconds = rateSeconds,
): string {
  return names
    .flatMap((figure) => {
      const metric = traefikMetrics[derivationOf(figure).metric];
      if (metric === undefined) return [];
      const scope = { selector: serviceSelector(services), by: ['service'], range: `${seconds}s`, metric };
      return [labelled(expression(figure, scope), figure)];
    })
    .join(' or ');
}

/**
 * Whether Traefik's metrics are collected, in the label `figure`: `on` for a metric that it always has, unlike those of
 * services, which begin with a request; `down` when the platform's own store asks in vain.
 */
export const ingressStateQuery = [
  `label_replace(count(traefik_config_reloads_total), "${figureLabel}", "on", "", "")`,
  `label_replace(count(up{job="ingress"} == 0), "${figureLabel}", "down", "", "")`,
].join(' or ');

interface Scope {
  selector: string;
  /** The labels that results keep. */
  by: string[];
  range: string;
  /** Default: the figure's own. */
  metric?: string;
}

function expression(figure: FigureName, { selector, by, range, metric: other }: Scope): string {
  const derivation = derivationOf(figure);
  const metric = other ?? derivation.metric;
  const grouped = (labels: readonly string[]) => (labels.length === 0 ? '' : ` by (${labels.join(', ')}) `);
  if (derivation.from === 'last') return `max${grouped(by)}(${metric}{${selector}})`;
  if (derivation.from === 'quantile') {
    const buckets = `sum${grouped(['le', ...by])}(rate(${metric}_bucket{${selector}}[${range}]))`;
    return `histogram_quantile(${derivation.quantile}, ${buckets})`;
  }
  const codes = derivation.errorsOnly ? ',code=~"5.*"' : '';
  return `sum${grouped(by)}(${derivation.from}(${metric}{${selector}${codes}}[${range}]))`;
}

function labelled(query: string, figure: FigureName): string {
  return `label_replace(${query}, "${figureLabel}", "${figure}", "", "")`;
}

/** @throws RangeError for a text that is no name: a query must not contain what a user writes */
function quoted(name: string): string {
  if (!nameShape.test(name)) throw new RangeError('no workload has this name');
  return `"${name}"`;
}

function serviceSelector(services: readonly string[]): string {
  if (!services.every((service) => serviceShape.test(service))) throw new RangeError('no service has this name');
  return `service=~"${services.map((service) => service.replaceAll('.', '\\\\.')).join('|')}"`;
}
