const bars = '▁▂▃▄▅▆▇█';
/** The longest line of bars: it fits beside the other columns of a terminal. */
const widthMax = 60;

/**
 * The values as a line of bars, from 0 to the highest value; a gap where there is none. Of many values, each bar shows the
 * highest of several. Pure.
 */
export function sparkline(values: readonly (number | null)[]): string {
  const perBar = Math.max(1, Math.ceil(values.length / widthMax));
  const heights: (number | null)[] = [];
  for (let index = 0; index < values.length; index += perBar) {
    const numbers = values.slice(index, index + perBar).filter((value) => value !== null);
    heights.push(numbers.length === 0 ? null : Math.max(...numbers));
  }
  const highest = Math.max(...heights.map((value) => value ?? 0));
  const bar = (value: number | null) => {
    if (value === null) return ' ';
    const level = highest > 0 ? Math.round((value / highest) * (bars.length - 1)) : 0;
    return bars[Math.max(0, level)] ?? ' ';
  };
  return heights.map(bar).join('');
}
