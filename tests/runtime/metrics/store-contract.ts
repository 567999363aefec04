import type { Test } from 'tap';
import { figuresOf, type FigureName } from '../../../runtime/metrics/figures.ts';
import type { MetricsStore, MetricValue } from '../../../runtime/metrics/metrics-store.ts';
import { begin, end, hours, other, shop } from './scenario.ts';

/** Figures may differ by how a store interpolates between collections. */
const tolerance = 0.1;

/** What every MetricsStore answers about the samples of `scenario.ts`. */
export async function checkMetricsStore(t: Test, store: MetricsStore): Promise<void> {
  const close = (value: MetricValue | undefined, expected: number, message: string) => {
    const near = typeof value === 'number' && Math.abs(value - expected) <= Math.abs(expected) * tolerance + 1e-9;
    t.ok(near, `${message}: ${String(value)} is about ${expected}`);
  };
  const half = begin + (hours * 3600) / 2;
  const each = (values: readonly MetricValue[] | undefined, expected: number, message: string) => {
    for (const [index, value] of (values ?? []).entries()) close(value, expected, `${message}, value ${index}`);
  };

  await t.test('the last hour by minute', async (t) => {
    const { times, figures } = await store.workload(shop, { from: end - 3600, to: end, step: 60 });
    t.equal(times.length, 61);
    t.same(Object.keys(figures), figuresOf('function'), 'every figure has a row');
    for (const values of Object.values(figures)) t.equal(values.length, times.length);
    each(figures.requestsPerSecond, 4, 'requests per second');
    each(figures.errorsPerSecond, 0.2, 'errors per second');
    each(figures.latencyP50Seconds, 1, 'p50');
    each(figures.latencyP95Seconds, 2.35, 'p95');
    each(figures.cpuCores, 0.25, 'cores');
    each(figures.replicas, 3, 'replicas');
    each(figures.oomKills?.slice(1), 0, 'kills');
    close(figures.memoryBytes?.at(-1), 64e6 + hours * 3600 * 1000, 'memoryBytes');
    close(total(figures.coldStarts?.slice(1)), 6, 'cold starts in an hour');
  });

  await t.test('all hours, over a restart and a change of load', async (t) => {
    const { times, figures } = await store.workload(shop, { from: begin + 900, to: end, step: 300 });
    const at = (figure: FigureName, time: number) => figures[figure]?.[times.indexOf(time)];
    close(at('requestsPerSecond', half - 600), 2, 'before the change');
    close(at('requestsPerSecond', half + 600), 4, 'after the change');
    close(at('replicas', half - 300), 1, 'replicas before');
    close(at('replicas', half + 300), 3, 'replicas after');
    for (const value of figures.requestsPerSecond ?? [])
      t.ok(value !== null && value < 5, `no peak at the restart: ${value}`);
  });

  await t.test('the other namespace has its own figures', async (t) => {
    const { figures } = await store.workload(other, { from: end - 600, to: end, step: 60 });
    each(figures.requestsPerSecond, 14, 'requests per second');
    t.end();
  });

  await t.test('a workload that does not exist has no figures', async (t) => {
    const { figures } = await store.workload({ ...shop, name: 'gone' }, { from: end - 600, to: end, step: 60 });
    for (const values of Object.values(figures)) t.same(new Set(values), new Set([null]));
  });

  await t.test('all workloads of a namespace', async (t) => {
    const moments = await store.namespace(shop.namespace, end);
    t.same(
      moments.map(({ kind, name }) => ({ kind, name })),
      [{ kind: 'function', name: 'resize' }],
    );
    const figures = moments[0]?.figures ?? {};
    close(figures.requestsPerSecond, 4, 'requests per second');
    close(figures.errorsPerSecond, 0.2, 'errors per second');
    close(figures.cpuCores, 0.25, 'cores');
    close(figures.latencyP99Seconds, 2.47, 'p99');
    t.same(await store.namespace('nobody-prod', end), []);
  });

  await t.test('the last hour of all workloads of a namespace', async (t) => {
    const window = { from: end - 3600, to: end, step: 180 };
    const histories = await store.history(shop.namespace, window);
    t.same(
      histories.map(({ kind, name, figures }) => [kind, name, Object.keys(figures).toSorted()]),
      [['function', 'resize', ['cpuCores', 'requestsPerSecond']]],
    );
    const { requestsPerSecond, cpuCores } = histories[0]?.figures ?? {};
    t.equal(requestsPerSecond?.length, 21);
    each(requestsPerSecond, 4, 'requests per second');
    each(cpuCores, 0.25, 'cores');
    t.same(await store.history('nobody-prod', window), []);
  });
}

function total(values: readonly MetricValue[] | undefined): number {
  return (values ?? []).reduce<number>((sum, value) => sum + (value ?? 0), 0);
}
