import t from 'tap';
import { createKeyQueue } from '../../../runtime/kube/key-queue.ts';
import { fakeClock, settle } from '../../support/clock.ts';

t.test('a key waits once, however often it is added, in order', async (t) => {
  const queue = createKeyQueue(fakeClock());
  for (const key of ['a', 'b', 'a', 'a', 'c', 'b']) queue.add(key);
  t.equal(queue.depth(), 3);
  t.same([await queue.take(), await queue.take(), await queue.take()], ['a', 'b', 'c']);
  t.equal(queue.depth(), 0);
});

t.test('a key that is added while it is processed is processed again after that, never concurrently', async (t) => {
  const queue = createKeyQueue(fakeClock());
  queue.add('a');
  t.equal(await queue.take(), 'a');
  queue.add('a');
  queue.add('a');
  let second: string | undefined;
  const taking = queue.take().then((key) => (second = key));
  await settle();
  t.equal(second, undefined);
  queue.done('a');
  await taking;
  t.equal(second, 'a');
  queue.done('a');
  t.equal(queue.depth(), 0);
});

t.test('failures delay a key by 5 ms up to 1,000 s, and success resets the delay', async (t) => {
  const queue = createKeyQueue(fakeClock());
  const waits = Array.from({ length: 25 }, () => queue.retry('a'));
  for (const [index, wait] of waits.entries()) {
    const full = Math.min(1_000_000, 5 * 2 ** index);
    t.ok(wait >= full * 0.8 && wait <= full, `wait ${index + 1} is ${wait} ms`);
  }
  queue.forget('a');
  t.ok(queue.retry('a') <= 5);
  queue.close();
});

t.test('a key is returned when it is due; the earlier of two times counts', async (t) => {
  const clock = fakeClock();
  const queue = createKeyQueue(clock);
  queue.addAfter('a', 1_000);
  queue.addAfter('a', 5_000);
  queue.addAfter('b', 5_000);
  queue.addAfter('b', 2_000);
  await clock.advance(999);
  t.equal(queue.depth(), 0);
  await clock.advance(1);
  t.equal(await queue.take(), 'a');
  queue.done('a');
  await clock.advance(1_000);
  t.equal(await queue.take(), 'b');
  queue.done('b');
  await clock.advance(10_000);
  t.equal(queue.depth(), 0, 'and nothing was returned twice');
  t.equal(clock.sleepers(), 0);
});

t.test('processing a key cancels its scheduled time: the pass decides about the next one', async (t) => {
  const clock = fakeClock();
  const queue = createKeyQueue(clock);
  queue.addAfter('a', 1_000);
  queue.add('a');
  t.equal(await queue.take(), 'a');
  queue.done('a');
  await clock.advance(5_000);
  t.equal(queue.depth(), 0);
});

t.test('it reports how long the oldest work takes', async (t) => {
  const clock = fakeClock();
  const queue = createKeyQueue(clock);
  t.equal(queue.longestRunningMs(), 0);
  queue.add('a');
  queue.add('b');
  await queue.take();
  await clock.advance(3_000);
  await queue.take();
  await clock.advance(1_000);
  t.equal(queue.longestRunningMs(), 4_000);
  queue.done('a');
  t.equal(queue.longestRunningMs(), 1_000);
});

t.test('closing ends the workers and drops waiting keys, until it is opened again', async (t) => {
  const clock = fakeClock();
  const queue = createKeyQueue(clock);
  const waiting = [queue.take(), queue.take()];
  queue.addAfter('late', 1_000);
  queue.close();
  t.same(await Promise.all(waiting), [undefined, undefined]);
  queue.add('a');
  t.equal(await queue.take(), undefined);
  t.equal(queue.depth(), 0);
  t.equal(clock.sleepers(), 0);
  queue.open();
  queue.add('b');
  t.equal(await queue.take(), 'b');
});
