const units: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
/** Clocks of servers differ, and the clock of the page moves in steps: a time that is ahead by less is now. */
const aheadMaxSeconds = 60;

/** `5 min. ago`, `in 3 days`. Pure. */
export function relativeTime(at: string, now: number): string {
  const seconds = Math.round((now - Date.parse(at)) / 1000);
  const distance = Math.abs(seconds);
  if (seconds < 10 && seconds > -aheadMaxSeconds) return 'now';
  const [unit, size] = units.find((entry) => distance >= entry[1]) ?? ['second', 1];
  const count = Math.floor(distance / size);
  return relative.format(seconds > 0 ? -count : count, unit);
}
