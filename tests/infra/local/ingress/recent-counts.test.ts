import t from 'tap';
import { createRecentCounts } from '../../../../infra/local/ingress/recent-counts.ts';
import { fakeClock } from '../../../support/clock.ts';

t.test('counts each name by itself, within the time and up to the maximum', async (t) => {
  const clock = fakeClock();
  const counts = createRecentCounts({ clock, ms: 1_000, max: 3 });
  const both = () => [counts.of('a'), counts.of('b')];
  t.same(both(), [0, 0]);
  counts.add('a');
  await clock.advance(600);
  counts.add('b');
  counts.add('a');
  t.same(both(), [2, 1]);
  await clock.advance(400);
  t.same(both(), [1, 1], 'the first is a second old');
  for (let number = 0; number < 5; number++) counts.add('b');
  t.same(both(), [1, 3]);
  await clock.advance(600);
  t.same(both(), [0, 3]);
  await clock.advance(400);
  t.same(both(), [0, 0]);
});
