import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t from 'tap';
import { createRequestMetrics } from '../../../runtime/metrics/request-metrics.ts';
import { openRing, type Ring, type SeriesId } from '../../../runtime/metrics/ring.ts';

const start = 1_767_225_600;
const id: SeriesId = { namespace: 'shop-prod', kind: 'app', name: 'api', metric: 'm', part: '' };

/** The last values of a series in a resolution, up to a time. */
function values(ring: Ring, resolution: 0 | 1 | 2, seconds: number, until: number, count: number): (number | null)[] {
  const [series] = ring.of(id.namespace);
  if (!series) return [];
  const slots = ring.values(series, resolution, until / seconds - count + 1, count);
  return [...slots].map((value) => (Number.isNaN(value) ? null : value));
}

t.test('coarser slots hold the sum of a counter and the last value of a gauge', (t) => {
  const ring = openRing({ path: join(t.testdir(), 'r') });
  const gauge = { ...id, namespace: 'gauge-prod' };
  for (let round = 1; round <= 20; round++) {
    ring.add(id, 'counter', start + round * 15, 1);
    ring.add(gauge, 'gauge', start + round * 15, round);
  }
  const end = start + 300;
  t.same(values(ring, 0, 15, end, 2), [1, 1]);
  t.same(values(ring, 1, 60, end, 5), [4, 4, 4, 4, 4]);
  t.same(values(ring, 2, 300, end, 1), [20]);
  const [series] = ring.of('gauge-prod');
  t.same(series && [...ring.values(series, 1, end / 60 - 1, 2)], [16, 20]);
  ring.close();
  t.end();
});

t.test('gaps are empty, also when they are longer than the ring', (t) => {
  const ring = openRing({ path: join(t.testdir(), 'r') });
  for (let round = 0; round < 800; round++) ring.add(id, 'gauge', start + round * 15, 7);
  const later = start + 800 * 15 + 60;
  ring.add(id, 'gauge', later, 8);
  t.same(values(ring, 0, 15, later, 7), [7, 7, null, null, null, null, 8].slice(-7));
  const muchLater = later + 4 * 86_400;
  ring.add(id, 'gauge', muchLater, 9);
  for (const [resolution, seconds, slots] of [
    [0, 15, 720],
    [1, 60, 1440],
    [2, 300, 864],
  ] as const) {
    const all = values(ring, resolution, seconds, Math.ceil(muchLater / seconds) * seconds, slots);
    t.same(
      all.filter((value) => value !== null),
      [9],
      `${seconds} seconds`,
    );
  }
  ring.close();
  t.end();
});

t.test('after a crash only the last minute is missing', (t) => {
  const path = join(t.testdir(), 'r');
  const ring = openRing({ path });
  for (let round = 1; round <= 40; round++) ring.add(id, 'gauge', start + round * 15, round);
  // The file as a killed process leaves it.
  writeFileSync(`${path}-copy`, readFileSync(path));
  ring.close();
  const copy = openRing({ path: `${path}-copy` });
  const read = values(copy, 0, 15, start + 36 * 15, 36);
  t.same(
    read.slice(0, 35),
    Array.from({ length: 35 }, (_, index) => index + 1),
  );
  const end = start + 41 * 15;
  copy.add(id, 'gauge', end, 41);
  t.equal(values(copy, 0, 15, end, 1)[0], 41);
  copy.close();
  t.end();
});

t.test('a clock that is set back gives up what was stored, not what comes', (t) => {
  const ring = openRing({ path: join(t.testdir(), 'r') });
  ring.add(id, 'gauge', start + 86_400 * 365, 1);
  for (let round = 1; round <= 4; round++) ring.add(id, 'gauge', start + round * 15, round);
  t.same(values(ring, 0, 15, start + 60, 4), [1, 2, 3, 4]);
  t.equal(ring.stats().series, 1);
  ring.close();
  t.end();
});

t.test('a file that is no ring is replaced, and one with broken records is read as far as possible', (t) => {
  const path = join(t.testdir({ r: 'something else '.repeat(10_000) }), 'r');
  const ring = openRing({ path });
  t.equal(ring.stats().series, 0);
  ring.add(id, 'gauge', start, 5);
  ring.add({ ...id, namespace: 'other-prod' }, 'gauge', start, 6);
  ring.close();
  const bytes = readFileSync(path);
  bytes.fill(0xff, 64, 64 + 500);
  writeFileSync(path, bytes);
  const again = openRing({ path });
  t.same([again.of('shop-prod').length, again.of('other-prod').length], [0, 1]);
  again.close();
  t.end();
});

t.test('a process counts the requests of a limited number of workloads, and of each namespace', async (t) => {
  const registry = new Registry();
  const metrics = createRequestMetrics(registry, { total: 3, perNamespace: 2 });
  const of = (namespace: string, name: string) => metrics.of({ kind: 'app', namespace, name });
  const first = of('greedy', 'a');
  const all = [first, of('greedy', 'b'), of('greedy', 'c'), of('shop', 'api'), of('late', 'x')];
  for (const figures of all) figures.ended(200, 1);
  const named = async () => (await registry.metrics()).match(/^svc_requests_total\{[^}]*name="\w+"/gm)?.length ?? 0;
  t.equal(await named(), 3);
  t.match(await registry.metrics(), 'svc_request_metrics_omitted 2');
  first.forget();
  first.forget();
  of('late', 'x').ended(200, 1);
  t.equal(await named(), 3, 'a place is free again, once');
  t.equal(of('other', 'y').ended(200, 1), undefined);
  t.equal(await named(), 3);
});
