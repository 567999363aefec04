import t from 'tap';
import { createUserRate } from '../../../runtime/domain/user-rate.ts';

t.test('a user may go on after the time that the answer names, and another at once', (t) => {
  let now = 0;
  const rate = createUserRate({ burst: 2, perSecond: 0.5 }, () => now);
  t.same([rate.take('a'), rate.take('a'), rate.take('a')], [0, 0, 2]);
  t.equal(rate.take('b'), 0);
  now = 1_000;
  t.equal(rate.take('a'), 1, 'half of the next is there');
  now = 2_000;
  t.equal(rate.take('a'), 0);
  t.equal(rate.take('a'), 2);
  now = 1_000_000;
  t.same([rate.take('a'), rate.take('a'), rate.take('a')], [0, 0, 2], 'never more than the burst');
  t.end();
});

t.test('of 10,000 users, the one who was away longest is forgotten for the next', (t) => {
  const rate = createUserRate({ burst: 1, perSecond: 1 }, () => 0);
  const others = Array.from({ length: 9_999 }, (_, number) => `user-${number}`);
  t.notOk(['first', ...others].some((user) => rate.take(user) > 0));
  t.equal(rate.take('first'), 1, 'all are remembered');
  t.equal(rate.take('new'), 0);
  t.equal(rate.take('first'), 1);
  t.equal(rate.take('user-1'), 1);
  t.equal(rate.take('user-0'), 0);
  t.end();
});
