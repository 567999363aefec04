import t from 'tap';
import { createLinePositions, rowHeight } from '../../../functions/console/ui/logs/line-positions.ts';
import type { Line } from '../../../functions/console/ui/logs/lines.ts';

const linesOf = (...ids: number[]): Line[] =>
  ids.map((id) => ({ id, pod: 'api', time: '2026-11-24T10:00:00.000Z', line: `line ${id}` }));

/** The heights of lines, by the positions of each and of the next. */
function heightsOf(positions: ReturnType<typeof createLinePositions>, count: number): number[] {
  return Array.from({ length: count }, (_, index) => positions.top(index + 1) - positions.top(index));
}

t.test('lines are below each other, and each takes one row until its height is known', (t) => {
  const positions = createLinePositions();
  t.equal(positions.height(), 0);
  t.equal(positions.indexAt(100), 0);
  positions.setLines(linesOf(1, 2, 3));
  t.equal(positions.height(), 3 * rowHeight);
  t.equal(positions.setHeight(1, 60), true);
  t.equal(positions.setHeight(1, 60.2), false, 'a difference that rounding makes');
  t.equal(positions.setHeight(0, rowHeight), false);
  t.same([positions.top(0), positions.top(1), positions.top(2), positions.height()], [0, 20, 80, 100]);
  t.same(
    [-5, 0, 19, 20, 79, 80, 99, 100, 1e6].map((distance) => positions.indexAt(distance)),
    [0, 0, 0, 1, 1, 2, 2, 2, 2],
  );
  t.end();
});

t.test('lines that stay keep their heights', (t) => {
  const cases: [name: string, ids: number[], heights: number[]][] = [
    ['new lines come', [1, 2, 3, 4, 5, 6], [20, 40, 20, 60, 20, 20]],
    ['the oldest make room', [3, 4, 5], [20, 60, 20]],
    ['older ones are read', [7, 8, 1, 2, 3, 4], [20, 20, 20, 40, 20, 60]],
    ['older ones are read and new ones come', [7, 1, 2, 3, 4, 5], [20, 20, 40, 20, 60, 20]],
    ['one comes late, between others', [1, 2, 9, 3, 4], [20, 40, 20, 20, 60]],
    ['the oldest makes room for a late one', [2, 9, 3, 4], [40, 20, 20, 60]],
    ['late ones come after the oldest made room', [2, 3, 9, 4, 5], [40, 20, 20, 60, 20]],
    ['all are others', [11, 12], [20, 20]],
    ['none is left', [], []],
  ];
  for (const [name, ids, heights] of cases) {
    const positions = createLinePositions();
    positions.setLines(linesOf(1, 2, 3, 4));
    positions.setHeight(1, 40);
    positions.setHeight(3, 60);
    t.equal(positions.height(), 140);
    positions.setLines(linesOf(...ids));
    t.same(heightsOf(positions, ids.length), heights, name);
    t.equal(
      positions.height(),
      heights.reduce((sum, height) => sum + height, 0),
      name,
    );
    positions.setLines(linesOf(1, 2));
    t.equal(heightsOf(positions, 2)[0], rowHeight, `${name}: and after them`);
  }
  t.end();
});
