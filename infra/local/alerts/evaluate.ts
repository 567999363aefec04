import type { Expression } from '../../manifests/monitoring/alert-expression.ts';
import { labelsKey, type AlertSamples, type Sample } from './samples.ts';

type Readable = Pick<AlertSamples, 'latest' | 'changes'>;

const comparisons: Readonly<Record<Extract<Expression, { form: 'only' }>['is'], (a: number, b: number) => boolean>> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '==': (a, b) => a === b,
};

/**
 * What an expression results in, as Prometheus computes it, but without the extrapolation of its `increase` and `delta`.
 * @param at the time in seconds
 */
export function evaluate(expression: Expression, samples: Readable, at: number): Sample[] {
  const result = (part: Expression) => evaluate(part, samples, at);
  switch (expression.form) {
    case 'series':
      return samples.latest(expression.metric).filter((sample) => matches(expression, sample));
    case 'change': {
      const { of, how, seconds } = expression;
      return samples.changes(of.metric, how, seconds, at).filter((sample) => matches(of, sample));
    }
    case 'group':
      return grouped(expression, result(expression.of));
    case 'ratio': {
      const others = byLabels(result(expression.to));
      return result(expression.of).flatMap(({ labels, value }) => {
        const other = others.get(labelsKey(labels));
        return other === undefined ? [] : [{ labels, value: value / other }];
      });
    }
    case 'only': {
      const { of, is, than } = expression;
      const others = typeof than === 'number' ? undefined : byLabels(result(than));
      return result(of).filter(({ labels, value }) => {
        const other = typeof than === 'number' ? than : others?.get(labelsKey(labels));
        return other !== undefined && comparisons[is](value, other);
      });
    }
    case 'both': {
      const others = byLabels(result(expression.and));
      return result(expression.of).filter(({ labels }) => others.has(labelsKey(labels)));
    }
    case 'until':
      return result(expression.of).map(({ labels, value }) => ({ labels, value: value - at }));
    case 'absent':
    default:
      return samples.latest(expression.metric).length === 0 ? [{ labels: {}, value: 1 }] : [];
  }
}

function matches({ where }: Extract<Expression, { form: 'series' }>, { labels }: Sample): boolean {
  return where.every(([label, is, expected]) => {
    const value = labels[label] ?? '';
    if (is === 'none of') return !expected.includes(value);
    if (is === 'without') return !value.includes(expected);
    return (value === expected) === (is === '=');
  });
}

function byLabels(samples: readonly Sample[]): Map<string, number> {
  return new Map(samples.map(({ labels, value }) => [labelsKey(labels), value]));
}

function grouped({ how, by }: Extract<Expression, { form: 'group' }>, samples: readonly Sample[]): Sample[] {
  const groups = new Map<string, { labels: Sample['labels']; values: number[] }>();
  for (const { labels, value } of samples) {
    const groupLabels = Object.fromEntries(by.flatMap((label) => (labels[label] ? [[label, labels[label]]] : [])));
    const key = labelsKey(groupLabels);
    const group = groups.get(key) ?? { labels: groupLabels, values: [] };
    groups.set(key, group);
    group.values.push(value);
  }
  const combine = {
    sum: (values: number[]) => values.reduce((total, value) => total + value, 0),
    max: (values: number[]) => values.reduce((a, b) => Math.max(a, b)),
    min: (values: number[]) => values.reduce((a, b) => Math.min(a, b)),
    count: (values: number[]) => values.length,
  }[how];
  return [...groups.values()].map(({ labels, values }) => ({ labels, value: combine(values) }));
}
