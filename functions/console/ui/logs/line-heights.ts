import type { Line } from './lines.ts';

/** Of one line of text, in CSS pixels. */
export const rowHeight = 20;

/**
 * How far lines that stay move when lines before them were added, or made room, in CSS pixels. Forgets the heights of those
 * that made room: the virtualizer itself keeps them for as long as the page is open.
 * @param heights the heights of lines that do not take one row, by their ids
 */
export function movedBy(former: readonly Line[], lines: readonly Line[], heights: Map<unknown, number>): number {
  const firstBefore = former[0]?.id;
  const first = lines[0]?.id;
  if (firstBefore === undefined || firstBefore === first) return 0;
  const heightOf = (sum: number, { id }: Line) => sum + (heights.get(id) ?? rowHeight);
  const dropped = former.findIndex(({ id }) => id === first);
  const added = dropped < 0 ? lines.findIndex(({ id }) => id === firstBefore) : -1;
  if (added >= 0) return lines.slice(0, added).reduce(heightOf, 0);
  const gone = dropped < 0 ? former : former.slice(0, dropped);
  const height = gone.reduce(heightOf, 0);
  for (const { id } of gone) heights.delete(id);
  return -height;
}
