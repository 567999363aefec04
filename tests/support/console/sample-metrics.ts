import type { AnyMetrics } from '../../../runtime/contracts/api/metrics.ts';

const count = 61;
const stepSeconds = 60;

/** Metrics of an app as an hour of traffic has them, in which a faulty revision is rolled back: for pictures. */
export function sampleMetrics(): AnyMetrics {
  const to = Math.floor(Date.now() / 60_000) * 60_000;
  const from = to - (count - 1) * stepSeconds * 1000;
  const timeOf = (index: number) => new Date(from + index * stepSeconds * 1000).toISOString();
  /** A wave with small noise, the same in each run. */
  const wave = (low: number, high: number) =>
    Array.from({ length: count }, (_, index) => {
      const share = (1 + Math.sin(index / 9) * 0.7 + Math.sin(index * 2.3) * 0.3) / 2;
      return low + (high - low) * share;
    });
  const between = (start: number, end: number, inside: number, outside: number) =>
    Array.from({ length: count }, (_, index) => (index >= start && index < end ? inside : outside));
  return {
    name: 'api',
    from: timeOf(0),
    to: timeOf(count - 1),
    stepSeconds,
    figures: {
      requestsPerSecond: wave(80, 140),
      errorsPerSecond: between(38, 41, 6, 0),
      latencyP50Seconds: wave(0.009, 0.014),
      latencyP95Seconds: wave(0.03, 0.06),
      latencyP99Seconds: wave(0.08, 0.14),
      cpuCores: wave(0.2, 0.45),
      memoryBytes: wave(150, 190).map((mebibytes) => mebibytes * 1024 ** 2),
      replicas: between(38, count, 3, 2),
      readyReplicas: between(40, count, 3, 2),
      restarts: between(39, 40, 1, 0),
      oomKills: between(0, 0, 0, 0),
    },
    deployments: [
      { id: '1', revision: 2, state: 'succeeded', at: timeOf(38) },
      { id: '2', revision: 3, state: 'succeeded', at: timeOf(41) },
    ],
  };
}
