import t from 'tap';
import { createLogPosition } from '../../../runtime/domain/log-position.ts';

t.test('a log that is opened again repeats lines, and each line is new once', (t) => {
  const position = createLogPosition();
  const read = (...times: string[]) => times.map((time) => position.isNew(time));
  t.equal(position.time(), undefined);
  t.same(read('1', '2', '2', '2'), [true, true, true, true], 'lines can share a time');
  t.equal(position.time(), '2');
  position.reopen();
  t.same(read('1', '2', '2', '2', '2', '3', '3'), [false, false, false, false, true, true, true]);
  position.reopen();
  t.same(read('3', '3'), [false, false]);
  position.reopen();
  t.same(read('3', '3', '3'), [false, false, true], 'also when it broke before all lines had repeated');
  position.reopen();
  t.same(read('4', '3'), [true, true], 'a clock that was set back loses no line');
  t.end();
});

t.test('a line without a time is always new', (t) => {
  const position = createLogPosition();
  t.ok(position.isNew(''));
  t.ok(position.isNew('1'));
  position.reopen();
  t.ok(position.isNew(''));
  t.notOk(position.isNew('1'));
  t.end();
});
