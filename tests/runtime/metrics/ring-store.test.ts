import { join } from 'node:path';
import t from 'tap';
import { createCollector } from '../../../runtime/metrics/collector.ts';
import { createRingStore } from '../../../runtime/metrics/ring-store.ts';
import { openRing } from '../../../runtime/metrics/ring.ts';
import { collections, end, expositionAt } from './scenario.ts';
import { checkMetricsStore } from './store-contract.ts';

const path = join(t.testdir(), 'metrics.ring');

t.test('a ring answers as every store of metrics does', async (t) => {
  const ring = openRing({ path });
  t.teardown(() => ring.close());
  const collector = createCollector(ring);
  for (const time of collections()) collector.add('process', expositionAt(time), time);
  await checkMetricsStore(t, createRingStore({ ring, now: () => end }));
});

t.test('a ring that was closed and opened again answers the same', async (t) => {
  const ring = openRing({ path });
  t.teardown(() => ring.close());
  await checkMetricsStore(t, createRingStore({ ring, now: () => end }));
});
