import { durationBuckets, workloadMetrics } from '../../../runtime/metrics/figures.ts';
import { collectSeconds } from '../../../runtime/metrics/metrics-store.ts';

/** The time of the first samples, in seconds: a multiple of every resolution. */
export const begin = Math.floor(Date.parse('2026-01-05T00:00:00Z') / 1000);
/** Long enough for the ring's second resolution. */
export const hours = 5;
export const end = begin + hours * 3600;

export const shop = { namespace: 'shop-prod', kind: 'function', name: 'resize' } as const;
export const other = { namespace: 'other-prod', kind: 'function', name: 'resize' } as const;

/**
 * What the processes export at a time: one function with a steady load that doubles halfway, a twentieth of it errors, and
 * durations spread over the buckets. The counters begin again at zero after the second hour, as after a restart.
 */
export function expositionAt(time: number): string {
  const elapsed = time - begin;
  const restart = 2 * 3600;
  const since = elapsed < restart ? elapsed : elapsed - restart;
  const load = (perSecond: number, namespace: string) => {
    const labels = `namespace="${namespace}",kind="function",name="resize"`;
    const half = (hours * 3600) / 2;
    // The requests since the last start of the process.
    const requests = perSecond * (since + Math.max(0, elapsed - half));
    const lines = [
      `${workloadMetrics.requests}{${labels},code="2xx"} ${requests * 0.95}`,
      `${workloadMetrics.requests}{${labels},code="5xx"} ${requests * 0.05}`,
      `${workloadMetrics.cpu}{${labels}} ${since * 0.25}`,
      `${workloadMetrics.memory}{${labels}} ${64e6 + elapsed * 1000}`,
      `${workloadMetrics.replicas}{${labels}} ${elapsed < half ? 1 : 3}`,
      `${workloadMetrics.readyReplicas}{${labels}} 1`,
      `${workloadMetrics.coldStarts}{${labels}} ${Math.floor(since / 600)}`,
      `${workloadMetrics.restarts}{${labels}} ${Math.floor(since / 1800)}`,
      `${workloadMetrics.oomKills}{${labels}} 0`,
    ];
    const buckets = durationBuckets.map((bound) => {
      const share = Math.min(1, bound / 2);
      return `${workloadMetrics.duration}_bucket{${labels},le="${bound}"} ${requests * share}`;
    });
    return [...lines, ...buckets, `${workloadMetrics.duration}_bucket{${labels},le="+Inf"} ${requests}`];
  };
  return `${[...load(2, shop.namespace), ...load(7, other.namespace)].join('\n')}\n`;
}

/** Every time at which the processes are asked. */
export function collections(): number[] {
  return Array.from({ length: (end - begin) / collectSeconds + 1 }, (_, index) => begin + index * collectSeconds);
}

/** All samples in OpenMetrics's text format, which promtool reads. */
export function openMetrics(): string {
  const byMetric = new Map<string, string[]>();
  for (const time of collections()) {
    for (const line of expositionAt(time).trimEnd().split('\n')) {
      const name = line.slice(0, line.indexOf('{'));
      const lines = byMetric.get(name) ?? [];
      byMetric.set(name, lines);
      lines.push(`${line} ${time}`);
    }
  }
  const blocks = [...byMetric].map(([name, lines]) => `# TYPE ${name} unknown\n${lines.join('\n')}\n`);
  return `${blocks.join('')}# EOF\n`;
}
