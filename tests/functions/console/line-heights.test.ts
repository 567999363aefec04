import t from 'tap';
import { movedBy, rowHeight } from '../../../functions/console/ui/logs/line-heights.ts';
import type { Line } from '../../../functions/console/ui/logs/lines.ts';

const linesOf = (...ids: number[]): Line[] =>
  ids.map((id) => ({ id, pod: 'api', time: '2026-11-24T10:00:00.000Z', line: `line ${id}` }));

t.test('lines that made room move the others by their own heights, which are forgotten', (t) => {
  const heights = new Map<unknown, number>([
    [1, 40],
    [3, 60],
    [4, 80],
  ]);
  t.equal(movedBy(linesOf(1, 2, 3, 4), linesOf(4, 5), heights), -(40 + rowHeight + 60));
  t.same([...heights], [[4, 80]], 'no height is kept of a line that is gone');
  t.equal(movedBy(linesOf(4, 5), linesOf(6, 7), heights), -(80 + rowHeight), 'all of them are gone');
  t.equal(heights.size, 0);
  t.end();
});

t.test('older lines move the others by their heights, and new ones do not', (t) => {
  const heights = new Map<unknown, number>([[1, 40]]);
  t.equal(movedBy(linesOf(1, 2), linesOf(7, 8, 1, 2), heights), 2 * rowHeight);
  t.equal(movedBy(linesOf(1, 2), linesOf(1, 2, 3), heights), 0);
  t.equal(movedBy([], linesOf(1, 2, 3), heights), 0);
  t.equal(heights.size, 1);
  t.end();
});
