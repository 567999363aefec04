import { useSyncExternalStore } from 'react';
import { relativeTime } from './relative-time.ts';

const stepMs = 10_000;

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  if (document.hidden) return;
  now = Date.now();
  for (const each of listeners) each();
}

/** One timer for all times of the page. A tab that was hidden shows no old ones. */
function subscribe(listener: () => void): () => void {
  now = Date.now();
  listeners.add(listener);
  if (timer === undefined) {
    timer = setInterval(tick, stepMs);
    document.addEventListener('visibilitychange', tick);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    document.removeEventListener('visibilitychange', tick);
  };
}

/** A time to compare, or one of which the date matters. */
export const exactTime = (at: string): string =>
  new Date(at).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'long' });

/** A time relative to now; its exact value shows on hover. */
export function Time({ at }: { at: string }) {
  const current = useSyncExternalStore(subscribe, () => now);
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relativeTime(at, current)}
    </time>
  );
}

/** `1 min 5 s` */
export function duration(from: string, to: string): string {
  const seconds = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
