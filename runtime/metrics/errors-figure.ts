import type { FigureName } from './figures.ts';
import type { MetricValue } from './metrics-store.ts';

type Series = Partial<Record<FigureName, MetricValue[]>>;

/** Where there are requests but no series of errors, there were no errors: 0 and not unknown. Pure. */
export function withoutGaps(figures: Series): Series {
  const { requestsPerSecond: requests, errorsPerSecond: errors } = figures;
  if (!requests || !errors) return figures;
  const filled = errors.map((value, index) => value ?? (requests[index] === null ? null : 0));
  return { ...figures, errorsPerSecond: filled };
}
