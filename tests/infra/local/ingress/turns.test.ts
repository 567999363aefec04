import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { createTurns } from '../../../../infra/local/ingress/turns.ts';

t.test('work runs at once while there is little, else in its order, some in each turn', async (t) => {
  const takeTurn = createTurns(2);
  const done: number[] = [];
  for (let number = 0; number < 5; number++) takeTurn(() => done.push(number));
  t.same(done, [0, 1]);
  await turn();
  t.same(done, [0, 1, 2, 3]);
  takeTurn(() => done.push(5));
  t.same(done, [0, 1, 2, 3], 'later work waits for its turn');
  await turn();
  t.same(done, [0, 1, 2, 3, 4, 5]);
  await turn();
  takeTurn(() => takeTurn(() => takeTurn(() => done.push(6))));
  t.equal(done.length, 6, 'work that follows from work counts, too');
  await turn();
  t.equal(done.at(-1), 6);
});
