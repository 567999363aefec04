import { setImmediate as settled } from 'node:timers/promises';
import t from 'tap';
import { createBatches } from '../../../functions/webhooks/batches.ts';

/** Batches that a test completes. */
function heldBatches(limits: { atOnce: number; maxItems: number }) {
  const runs: { items: readonly string[]; end: () => void; fail: (error: Error) => void }[] = [];
  const add = createBatches<string, string>({
    run: (items) =>
      new Promise((resolve, reject) =>
        runs.push({ items, end: () => resolve(items.map((item) => item.toUpperCase())), fail: reject }),
      ),
    ...limits,
  });
  return { runs, add, items: () => runs.map(({ items }) => items) };
}

t.test('a single item runs immediately; items that arrive at the limit run together', async (t) => {
  const { runs, add, items } = heldBatches({ atOnce: 2, maxItems: 3 });
  const results = ['a', 'b', 'c', 'd', 'e', 'f'].map(add);
  t.same(items(), [['a'], ['b']]);
  runs[1]?.end();
  t.equal(await results[1], 'B');
  await settled();
  t.same(items(), [['a'], ['b'], ['c', 'd', 'e']], 'up to the limit, in order of arrival');
  runs[2]?.end();
  t.same(await Promise.all(results.slice(2, 5)), ['C', 'D', 'E']);
  await settled();
  t.same(items().at(-1), ['f']);
  for (const { end } of runs) end();
  t.same([await results[0], await results[5]], ['A', 'F']);
});

t.test('by default, two batches of at most 32 items run at once', async (t) => {
  const runs: { size: number; end: () => void }[] = [];
  const add = createBatches<number, number>({
    run: (items) => new Promise((resolve) => runs.push({ size: items.length, end: () => resolve(items) })),
  });
  const results = Array.from({ length: 35 }, (_, index) => add(index));
  const sizes = () => runs.map(({ size }) => size);
  t.same(sizes(), [1, 1]);
  for (let at = 0; at < 4; at++) {
    runs[at]?.end();
    await settled();
  }
  t.same(sizes(), [1, 1, 32, 1]);
  t.same(await Promise.all(results), Array.from(results.keys()));
});

t.test('a failed batch rejects only its own items', async (t) => {
  const { runs, add } = heldBatches({ atOnce: 1, maxItems: 8 });
  const first = add('a');
  const batch = Promise.allSettled(['b', 'c'].map(add));
  runs[0]?.end();
  t.equal(await first, 'A');
  await settled();
  runs[1]?.fail(new Error('away'));
  t.match(await batch, [
    { status: 'rejected', reason: new Error('away') },
    { status: 'rejected', reason: new Error('away') },
  ]);
  const next = add('d');
  runs[2]?.end();
  t.equal(await next, 'D');
});
