import { createHash } from 'node:crypto';
import { seriesIn } from '../../manifests/monitoring/alert-expression.ts';
import { alerts, type AlertDetail, type AlertRule } from '../../manifests/monitoring/alert-rules.ts';
import { evaluate } from './evaluate.ts';
import { createAlertSamples, labelsKey, type AlertSamples, type Sample } from './samples.ts';

/** An alert that fires. */
export interface FiringAlert {
  fingerprint: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** In seconds. */
  startsAt: number;
}

/** The alert rules of the embedded cluster, and what they read. */
export interface LocalAlerts extends Pick<AlertSamples, 'add' | 'remove' | 'keep'> {
  /** Evaluates the rules at a time in seconds, after a collection. */
  evaluate(at: number): void;
  firing(): FiringAlert[];
}

/** One alert since its condition is true. */
interface ActiveAlert extends FiringAlert {
  activeAt: number;
  isFiring: boolean;
}

/** Workloads that a text names. */
const namesMax = 5;

/** @param rules default: all that make sense in the embedded cluster */
export function createLocalAlerts(
  rules: readonly AlertRule[] = alerts.filter((rule) => !rule.clusterOnly),
): LocalAlerts {
  const metrics = new Map<string, number>();
  for (const { expr, details = {} } of rules) {
    const read = [...seriesIn(expr), ...Object.values(details).map(({ metric }) => ({ metric, seconds: 0 }))];
    for (const { metric, seconds } of read) metrics.set(metric, Math.max(seconds, metrics.get(metric) ?? 0));
  }
  const samples = createAlertSamples(metrics);
  let active = new Map<string, ActiveAlert>();

  const alertOf = (rule: AlertRule, sample: Sample, at: number): ActiveAlert => {
    const { name, severity, scope, for: seconds = 0, summary, description, details = {} } = rule;
    const labels = { ...sample.labels, alertname: name, severity, scope };
    const key = labelsKey(labels);
    const before = active.get(key);
    const activeAt = before?.activeAt ?? at;
    const isFiring = at - activeAt >= seconds;
    return {
      fingerprint: createHash('sha256').update(key).digest('hex').slice(0, 16),
      labels,
      annotations: {
        summary: textOf(summary, sample),
        description: textOf(description, sample),
        ...Object.fromEntries(Object.entries(details).map(([key, detail]) => [key, detailOf(detail, sample, samples)])),
      },
      activeAt,
      isFiring,
      startsAt: before?.isFiring ? before.startsAt : at,
    };
  };

  return {
    ...samples,
    evaluate(at) {
      const current = rules.flatMap((rule) =>
        evaluate(rule.expr, samples, at).map((sample) => alertOf(rule, sample, at)),
      );
      active = new Map(current.map((alert) => [labelsKey(alert.labels), alert]));
    },
    firing: () =>
      [...active.values()]
        .filter(({ isFiring }) => isFiring)
        .map(({ fingerprint, labels, annotations, startsAt }) => ({ fingerprint, labels, annotations, startsAt })),
  };
}

/** Fills in labels and the value, all at once, because a label may contain anything. */
function textOf(template: string, { labels, value }: Sample): string {
  return template.replaceAll(/\{\{ \$(?:labels\.(\w+)|value) \}\}/g, (_, label?: string) =>
    label === undefined ? String(value) : (labels[label] ?? ''),
  );
}

function detailOf(detail: AlertDetail, { labels }: Sample, samples: Pick<AlertSamples, 'latest'>): string {
  const identity = ['namespace', 'kind', 'name'].filter((label) => labels[label] !== undefined);
  const own = samples
    .latest(detail.metric)
    .filter((sample) => identity.every((label) => sample.labels[label] === labels[label]));
  if ('label' in detail) return own[0]?.labels[detail.label] ?? '';
  const names = own
    .filter(({ value }) => value === 1)
    .map((sample) => `${sample.labels['kind']} ${sample.labels['name']}`);
  return [...new Set(names)]
    .toSorted()
    .slice(0, namesMax)
    .map((name) => `${name} `)
    .join('');
}
