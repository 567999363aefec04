import type { MetricsRange } from '../../../../runtime/contracts/api/metrics.ts';

/** The ranges of the API, shortest first. */
export const metricsRanges = ['1h', '6h', '24h', '3d'] as const satisfies readonly MetricsRange[];

/** What the address of a page with metrics says. Absent: the default, `1h`. */
export interface MetricsSearch {
  range?: MetricsRange | undefined;
}

/** Reads the parameters of an address, and leaves out what is not valid. */
export function metricsSearch({ range }: Record<string, unknown>): MetricsSearch {
  const choice = metricsRanges.find((name) => name === range);
  return choice ? { range: choice } : {};
}
