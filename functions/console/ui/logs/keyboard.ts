interface Position {
  /** Of the line that has the focus. */
  index: number;
  /** Of all lines. */
  count: number;
  /** Lines that the view shows. */
  page: number;
}

/** The line to which a key moves the focus; undefined for any other key. Pure. */
export function keyboardTarget(key: string, { index, count, page }: Position): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ArrowUp: index - 1,
    ArrowDown: index + 1,
    PageUp: index - page,
    PageDown: index + page,
    Home: 0,
    End: count - 1,
  };
  const target = Object.hasOwn(moves, key) ? moves[key] : undefined;
  return target === undefined ? undefined : Math.min(Math.max(target, 0), count - 1);
}

/**
 * The line that Tab reaches before one has the focus: the last one where new lines are followed, else the first one that
 * the view shows as a whole. Pure.
 */
export function lineInView(visible: { first: number; last: number }, follows: boolean, count: number): number {
  if (follows) return count - 1;
  return Math.min(visible.first + 1, visible.last, count - 1);
}
