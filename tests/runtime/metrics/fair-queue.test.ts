import t from 'tap';
import { createFairQueue, QueueFull } from '../../../runtime/metrics/fair-queue.ts';
import { settle } from '../../support/clock.ts';

/** A call that runs until it is released. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { call: () => promise, release: resolve };
}

t.test('a group runs at most its share, and another one is not kept waiting', async (t) => {
  const queue = createFairQueue({ total: 3, perGroup: 2, waiting: 10 });
  const order: string[] = [];
  const greedy = Array.from({ length: 6 }, (_, index) => {
    const { call, release } = gate();
    const done = queue.run('greedy', async () => {
      order.push(`greedy ${index}`);
      await call();
    });
    return { release, done };
  });
  await settle();
  t.same(order, ['greedy 0', 'greedy 1']);
  await queue.run('small', async () => void order.push('small'));
  t.equal(order.at(-1), 'small');
  for (const { release, done } of greedy) {
    release();
    await done;
  }
  t.equal(order.length, 7);
});

t.test('groups take turns', async (t) => {
  const queue = createFairQueue({ total: 1, perGroup: 1, waiting: 10 });
  const order: string[] = [];
  const first = gate();
  const calls = [
    queue.run('a', first.call),
    ...['a', 'a', 'a', 'b', 'c'].map((name) => queue.run(name, async () => void order.push(name))),
  ];
  await settle();
  first.release();
  await Promise.all(calls);
  t.same(order.slice(0, 3).toSorted(), ['a', 'b', 'c']);
});

t.test('too many waiting calls are refused, and a failed call frees its place', async (t) => {
  const queue = createFairQueue({ total: 1, perGroup: 1, waiting: 1 });
  const first = gate();
  const running = queue.run('a', first.call);
  const waiting = queue.run('a', () => Promise.reject(new Error('failed')));
  await t.rejects(
    queue.run('a', async () => undefined),
    QueueFull,
  );
  first.release();
  await running;
  await t.rejects(waiting, { message: 'failed' });
  t.equal(await queue.run('a', async () => 1), 1);
});
