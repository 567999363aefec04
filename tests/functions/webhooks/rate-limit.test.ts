import t from 'tap';
import { createRateLimit } from '../../../functions/webhooks/rate-limit.ts';
import { fakeClock } from '../../support/clock.ts';

t.test('the rate in numbers', async (t) => {
  const clock = fakeClock();
  const limit = createRateLimit({ clock, rate: { perSecond: 2, burst: 4 } });
  const take = (count: number) => Array.from({ length: count }, () => limit.take('a'));
  t.same(take(6), [0, 0, 0, 0, 1, 1]);
  await clock.advance(499.5);
  t.same(take(1), [1], 'half a millisecond too early');
  await clock.advance(0.5);
  t.same(take(2), [0, 1]);
  await clock.advance(60_000);
  t.same(take(5), [0, 0, 0, 0, 1]);
  t.equal(limit.take('b'), 0);
});

t.test('the wait is whole seconds, rounded up', async (t) => {
  const clock = fakeClock();
  const limit = createRateLimit({ clock, rate: { perSecond: 0.001, burst: 1 } });
  limit.take('a');
  t.equal(limit.take('a'), 1_000);
  await clock.advance(1);
  t.equal(limit.take('a'), 1_000);
  await clock.advance(999);
  t.equal(limit.take('a'), 999);
});

t.test('an app stays limited however many others call', async (t) => {
  const limit = createRateLimit({ clock: fakeClock(), rate: { perSecond: 0.5, burst: 1 } });
  t.same([limit.take('a'), limit.take('a')], [0, 2]);
  for (let other = 0; other < 10_000; other++) limit.take(String(other));
  t.equal(limit.take('a'), 2);
});
