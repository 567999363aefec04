import t from 'tap';
import { keyboardTarget, lineInView } from '../../../functions/console/ui/logs/keyboard.ts';

t.test('keys lead to other lines, and never beyond the first and the last one', (t) => {
  const from = (index: number, ...keys: string[]) =>
    keys.map((key) => keyboardTarget(key, { index, count: 100, page: 30 }));
  t.same(from(50, 'ArrowUp', 'ArrowDown', 'PageUp', 'PageDown', 'Home', 'End'), [49, 51, 20, 80, 0, 99]);
  t.same(from(0, 'ArrowUp', 'PageUp', 'ArrowDown'), [0, 0, 1]);
  t.same(from(99, 'ArrowDown', 'PageDown', 'ArrowUp'), [99, 99, 98]);
  t.same(from(50, 'Enter', 'Tab', 'constructor', 'ArrowRight'), [undefined, undefined, undefined, undefined]);
  t.end();
});

t.test('Tab leads to the newest line where new lines are followed, else to the first whole one in view', (t) => {
  t.equal(lineInView({ first: 60, last: 99 }, true, 100), 99);
  t.equal(lineInView({ first: 60, last: 99 }, false, 100), 61);
  t.equal(lineInView({ first: 99, last: 99 }, false, 100), 99);
  t.equal(lineInView({ first: 0, last: 0 }, false, 0), -1, 'an empty log has none');
  t.end();
});
