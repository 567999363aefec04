/** How the value of a label must be: `without` a part, which is no regular expression. */
type Matcher =
  | readonly [label: string, is: '=' | '!=' | 'without', value: string]
  | readonly [label: string, is: 'none of', values: readonly string[]];

/** The samples of a metric. */
export interface Series {
  form: 'series';
  metric: string;
  where: readonly Matcher[];
}

/**
 * When an alert fires: for each of the samples that it results in. It is written as PromQL for Prometheus
 * ({@link promql}), and computed in the embedded cluster (infra/local/alerts/evaluate.ts); a test compares both.
 */
export type Expression =
  | Series
  /** How much a counter (`increase`) or a gauge (`delta`) has changed within a time. */
  | { form: 'change'; how: 'increase' | 'delta'; of: Series; seconds: number }
  /** One sample for each combination of these labels. */
  | { form: 'group'; how: 'sum' | 'max' | 'min' | 'count'; by: readonly string[]; of: Expression }
  /** The quotient of samples with the same labels. */
  | { form: 'ratio'; of: Expression; to: Expression }
  /** The samples that compare so with a number, or with the sample that has the same labels. */
  | { form: 'only'; of: Expression; is: '<' | '>' | '>=' | '=='; than: number | Expression }
  /** The samples of the first for which the second has a sample with the same labels. */
  | { form: 'both'; of: Expression; and: Expression }
  /** One sample if the metric has none. */
  | { form: 'absent'; metric: string }
  /** How many seconds a time is in the future. */
  | { form: 'until'; of: Expression };

export const series = (metric: string, ...where: readonly Matcher[]): Series => ({ form: 'series', metric, where });
export const increase = (of: Series, seconds: number): Expression => ({ form: 'change', how: 'increase', of, seconds });
export const delta = (of: Series, seconds: number): Expression => ({ form: 'change', how: 'delta', of, seconds });
const group =
  (how: Extract<Expression, { form: 'group' }>['how']) =>
  (by: readonly string[], of: Expression): Expression => ({ form: 'group', how, by, of });
export const sum = group('sum');
export const max = group('max');
export const min = group('min');
export const count = group('count');
export const ratio = (of: Expression, to: Expression): Expression => ({ form: 'ratio', of, to });
export const only = (
  of: Expression,
  is: Extract<Expression, { form: 'only' }>['is'],
  than: number | Expression,
): Expression => ({ form: 'only', of, is, than });
export const both = (of: Expression, and: Expression): Expression => ({ form: 'both', of, and });
export const absent = (metric: string): Expression => ({ form: 'absent', metric });
export const until = (of: Expression): Expression => ({ form: 'until', of });

function matcherText([label, is, value]: Matcher): string {
  if (is === 'none of') return `${label}!~${JSON.stringify(value.join('|'))}`;
  return is === 'without' ? `${label}!~${JSON.stringify(`.*${value}.*`)}` : `${label}${is}${JSON.stringify(value)}`;
}

/** The expression as PromQL. Pure. */
export function promql(expression: Expression): string {
  switch (expression.form) {
    case 'series': {
      const matchers = expression.where.map(matcherText).join(',');
      return matchers === '' ? expression.metric : `${expression.metric}{${matchers}}`;
    }
    case 'change':
      return `${expression.how}(${promql(expression.of)}[${expression.seconds}s])`;
    case 'group': {
      const { how, by, of } = expression;
      return by.length === 0 ? `${how}(${promql(of)})` : `${how} by (${by.join(', ')}) (${promql(of)})`;
    }
    case 'ratio':
      return `${promql(expression.of)} / ${promql(expression.to)}`;
    case 'only': {
      const { of, is, than } = expression;
      return `${promql(of)} ${is} ${typeof than === 'number' ? than : promql(than)}`;
    }
    case 'both':
      return `${promql(expression.of)} and ${promql(expression.and)}`;
    case 'until':
      return `${promql(expression.of)} - time()`;
    case 'absent':
    default:
      return `absent(${expression.metric})`;
  }
}

/** The series that an expression reads, with the seconds for which it needs their former values. Pure. */
export function seriesIn(expression: Expression): { metric: string; seconds: number }[] {
  switch (expression.form) {
    case 'change':
      return [{ metric: expression.of.metric, seconds: expression.seconds }];
    case 'group':
    case 'until':
      return seriesIn(expression.of);
    case 'ratio':
      return [...seriesIn(expression.of), ...seriesIn(expression.to)];
    case 'only':
      return [...seriesIn(expression.of), ...(typeof expression.than === 'number' ? [] : seriesIn(expression.than))];
    case 'both':
      return [...seriesIn(expression.of), ...seriesIn(expression.and)];
    case 'series':
    case 'absent':
    default:
      return [{ metric: expression.metric, seconds: 0 }];
  }
}
