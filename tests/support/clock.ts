import { systemClock, type Clock } from '../../runtime/domain/clock.ts';

interface Waiting {
  at: number;
  wake: () => void;
}

/** The machine's clock, `factor` times as fast, for tests with real processes and fixed time limits. */
export function acceleratedClock(factor: number): Clock {
  const [wallStart, start] = [Date.now(), performance.now()];
  const elapsed = () => (performance.now() - start) * factor;
  return {
    now: () => new Date(wallStart + elapsed()),
    monotonic: elapsed,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
}

/** A clock that stands still until a test advances it; sleeps that become due are delivered in order. */
export interface FakeClock extends Clock {
  /** Advances time by `ms`, delivers every sleep that becomes due, and lets the woken code run. */
  advance(ms: number): Promise<void>;
  /** Lets the wall clock jump without moving the monotonic one. */
  jump(ms: number): void;
  /** The number of waiting sleeps. */
  sleepers(): number;
}

/** Runs everything that is ready: promise jobs and immediate callbacks. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export function fakeClock(start = new Date('2026-01-01T00:00:00Z')): FakeClock {
  let elapsed = 0;
  let offset = start.getTime();
  const waiting: Waiting[] = [];
  return {
    now: () => new Date(offset + elapsed),
    monotonic: () => elapsed,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason as Error);
          return;
        }
        const entry: Waiting = { at: elapsed + ms, wake: resolve };
        waiting.push(entry);
        signal?.addEventListener('abort', () => {
          waiting.splice(waiting.indexOf(entry) >>> 0, 1);
          reject(signal.reason as Error);
        });
      }),
    async advance(ms) {
      const end = elapsed + ms;
      for (;;) {
        await settle();
        const next = waiting.filter((entry) => entry.at <= end).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        waiting.splice(waiting.indexOf(next), 1);
        elapsed = Math.max(elapsed, next.at);
        next.wake();
      }
      elapsed = end;
      await settle();
    },
    jump(ms) {
      offset += ms;
    },
    sleepers: () => waiting.length,
  };
}
