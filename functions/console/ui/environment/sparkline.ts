import type { TopItem } from '../../../../runtime/contracts/api/metrics.ts';

/** What the picture of a workload shows. */
export interface Sparkline {
  figure: 'requestsPerSecond' | 'cpuCores';
  /** The lines of the picture, each as the points of an SVG polyline; a gap divides two. */
  lines: string[];
  highest: number;
}

export const sparklineSize = { width: 84, height: 20 };

/** The requests of the last hour as a small picture, or the CPU of a workload without any; undefined without values. Pure. */
export function sparklineOf(history: TopItem['history']): Sparkline | undefined {
  for (const figure of ['requestsPerSecond', 'cpuCores'] as const) {
    const values = history?.[figure] ?? [];
    const highest = Math.max(0, ...values.map((value) => value ?? 0));
    if (values.some((value) => value !== null) && (highest > 0 || figure === 'cpuCores')) {
      return { figure, lines: linesOf(values, highest), highest };
    }
  }
  return undefined;
}

function linesOf(values: readonly (number | null)[], highest: number): string[] {
  const { width, height } = sparklineSize;
  const step = width / Math.max(1, values.length - 1);
  const lines: string[][] = [[]];
  for (const [index, value] of values.entries()) {
    if (value === null) lines.push([]);
    // A line at the very edge would be cut in half.
    else lines.at(-1)?.push(`${round(index * step)},${round(height - 1 - (value / (highest || 1)) * (height - 2))}`);
  }
  return lines.filter((line) => line.length > 0).map((line) => line.join(' '));
}

const round = (value: number) => Math.round(value * 10) / 10;
