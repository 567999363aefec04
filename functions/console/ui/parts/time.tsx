import { useSyncExternalStore } from 'react';

const stepMs = 10_000;
const units: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all times of the page. */
function subscribe(listener: () => void): () => void {
  now = Date.now();
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.hidden) return;
    now = Date.now();
    for (const each of listeners) each();
  }, stepMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** `5 min. ago`. Clocks of servers differ, so a time that is slightly ahead is now. */
function ago(time: string, from: number): string {
  const seconds = Math.max(0, Math.round((from - Date.parse(time)) / 1000));
  const [unit, size] = units.find((entry) => seconds >= entry[1]) ?? ['second', 1];
  return seconds < 10 ? 'now' : relative.format(-Math.floor(seconds / size), unit);
}

/** A time of the future, or one to compare. */
export const exactTime = (at: string): string =>
  new Date(at).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'long' });

/** A time relative to now; its exact value shows on hover. */
export function Time({ at }: { at: string }) {
  const current = useSyncExternalStore(subscribe, () => now);
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ago(at, Math.max(current, Date.parse(at)))}
    </time>
  );
}

/** `1 min 5 s` */
export function duration(from: string, to: string): string {
  const seconds = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
