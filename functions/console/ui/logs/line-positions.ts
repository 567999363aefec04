import type { Line } from './lines.ts';

/** The height of one row of text, in CSS pixels. */
export const rowHeight = 20;

/** Heights that differ by less are the same: browsers round them. */
const tolerance = 0.5;

/** Where the lines of a log are, in CSS pixels from its beginning. A line takes one row until its height is known. */
export interface LinePositions {
  /** The height of all lines together. */
  height(): number;
  /** Where a line begins; for the number of lines, where the last one ends. */
  top(index: number): number;
  /** The index of the line that is at a distance from the beginning, or else of the nearest; 0 without any line. */
  indexAt(distance: number): number;
  /** Changes the lines. Those that stay keep their heights. */
  setLines(lines: readonly Line[]): void;
  /** @returns whether the line had another height before */
  setHeight(index: number, height: number): boolean;
}

/**
 * All positions after a changed height are added up again, in a fraction of a millisecond for 100,000 lines, since they are
 * numbers in an array (decision 0094).
 */
export function createLinePositions(): LinePositions {
  let lines: readonly Line[] = [];
  let heights: number[] = [];
  let tops = new Float64Array(1);
  /** The tops of lines up to this one hold. */
  let validTo = 0;
  const top = (index: number) => {
    for (; validTo < index; validTo++) tops[validTo + 1] = (tops[validTo] ?? 0) + (heights[validTo] ?? rowHeight);
    return tops[index] ?? 0;
  };
  return {
    top,
    height: () => top(lines.length),
    indexAt(distance) {
      top(lines.length);
      let [low, high] = [0, Math.max(0, lines.length - 1)];
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (top(middle) <= distance) low = middle;
        else high = middle - 1;
      }
      return low;
    },
    setLines(next) {
      if (next === lines) return;
      heights = heightsOf(lines, heights, next);
      lines = next;
      if (tops.length <= lines.length) tops = new Float64Array(2 * lines.length + 1);
      validTo = 0;
    },
    setHeight(index, height) {
      if (Math.abs((heights[index] ?? rowHeight) - height) < tolerance) return false;
      heights[index] = height;
      validTo = Math.min(validTo, index);
      return true;
    },
  };
}

/** The heights of the next lines. Changes those of the former ones where most lines stay, which is far faster than a look-up. */
function heightsOf(former: readonly Line[], heights: number[], next: readonly Line[]): number[] {
  const dropped = former.findIndex(({ id }) => id === next[0]?.id);
  const added = dropped < 0 ? next.findIndex(({ id }) => id === former[0]?.id) : 0;
  const kept = former.length - Math.max(0, dropped);
  if (added < 0 || next[added + kept - 1]?.id !== former.at(-1)?.id) {
    const byId = new Map(former.map(({ id }, index) => [id, heights[index] ?? rowHeight]));
    return next.map(({ id }) => byId.get(id) ?? rowHeight);
  }
  if (dropped > 0) heights.splice(0, dropped);
  const before = added > 0 ? Array.from({ length: added }, () => rowHeight).concat(heights) : heights;
  while (before.length < next.length) before.push(rowHeight);
  return before;
}
