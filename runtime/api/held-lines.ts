import { headOfCutLine } from '../logs/record.ts';
import { partMinLength } from '../workloads/pod-logs.ts';
import type { LogLine } from './pod-log-lines.ts';

/** Runtimes write nanoseconds, so few lines of a pod share a time. More are not searched, which would take long. */
const sameTimeMax = 16;

/**
 * Tells which lines of the store pods have as well. Each line of a pod stands for one line of the store, also for one of
 * which the shipper has kept only the beginning.
 */
export function createHeldLines(lines: readonly LogLine[]): (stored: LogLine) => boolean {
  const counts = new Map<string, number>();
  const key = ({ pod, time, line }: LogLine) => `${pod} ${time} ${line}`;
  for (const line of lines) counts.set(key(line), (counts.get(key(line)) ?? 0) + 1);
  // Only lines that arrive in parts are cut.
  const long = Map.groupBy(
    lines.filter(({ line }) => line.length >= partMinLength),
    ({ pod, time }) => `${pod} ${time}`,
  );
  return (stored) => {
    const count = counts.get(key(stored)) ?? 0;
    if (count > 0) {
      counts.set(key(stored), count - 1);
      return true;
    }
    const head = headOfCutLine(stored.line);
    const candidates = long.get(`${stored.pod} ${stored.time}`);
    if (head === undefined || candidates === undefined || candidates.length > sameTimeMax) return false;
    const at = candidates.findIndex(({ line }) => line.startsWith(head));
    if (at >= 0) candidates.splice(at, 1);
    return at >= 0;
  };
}
