import t from 'tap';
import { createReadBuffers } from '../../../runtime/domain/read-buffers.ts';

t.test('a buffer is read into again, unless its content is needed', (t) => {
  const buffers = createReadBuffers(8);
  const first = buffers.next();
  t.equal(first.length, 8);
  t.equal(buffers.next(), first);
  const giveBack = buffers.lend();
  const second = buffers.next();
  t.not(second, first);
  giveBack();
  giveBack();
  const giveBackSecond = buffers.lend();
  t.equal(buffers.next(), first, 'it was given back');
  giveBackSecond();
  buffers.lend();
  t.equal(buffers.next(), second);
  buffers.lend();
  t.notOk([first, second].includes(buffers.next()), 'each was given back once');
  t.end();
});

t.test('at most four buffers wait to be used again', (t) => {
  const buffers = createReadBuffers(8);
  const used = Array.from({ length: 5 }, () => ({ buffer: buffers.next(), giveBack: buffers.lend() }));
  for (const { giveBack } of used) giveBack();
  const next = used.map(() => {
    const buffer = buffers.next();
    buffers.lend();
    return used.findIndex((each) => each.buffer === buffer);
  });
  t.same(next, [3, 2, 1, 0, -1]);
  t.end();
});
