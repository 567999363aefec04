import type { Clock } from '../../../runtime/domain/clock.ts';

/** A clock for simulations: one time for all forks, and a separate wall clock for each. */
export interface SimulatedClock extends Clock {
  /** Another fork of the same time. */
  fork(): SimulatedClock;
  /** Lets the wall clock of this fork jump. */
  jump(ms: number): void;
  /** Sleeps of this fork never end again, as in a process that was killed. */
  stop(): void;
  /** Advances the time of all forks, and ends the sleeps that become due, in order. */
  advance(ms: number): Promise<void>;
}

interface Sleeper {
  at: number;
  wake: () => void;
}

/** A simulation waits for nothing outside, so one turn of the event loop runs everything that is ready. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** @param wall where the wall clock starts, in ms since the epoch */
export function simulatedClock(wall: number): SimulatedClock {
  let elapsed = 0;
  const sleepers = new Set<Sleeper>();

  const make = (offset: number): SimulatedClock => {
    let own = offset;
    let stopped = false;
    return {
      now: () => new Date(own + elapsed),
      monotonic: () => elapsed,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          if (stopped) return;
          if (signal?.aborted) {
            reject(signal.reason as Error);
            return;
          }
          const sleeper = { at: elapsed + ms, wake: () => (stopped ? undefined : resolve()) };
          sleepers.add(sleeper);
          signal?.addEventListener('abort', () => {
            sleepers.delete(sleeper);
            if (!stopped) reject(signal.reason as Error);
          });
        }),
      fork: () => make(own),
      jump(ms) {
        own += ms;
      },
      stop() {
        stopped = true;
      },
      async advance(ms) {
        const end = elapsed + ms;
        for (;;) {
          await turn();
          let next: Sleeper | undefined;
          for (const sleeper of sleepers) if (sleeper.at <= end && !(next && next.at <= sleeper.at)) next = sleeper;
          if (!next) break;
          sleepers.delete(next);
          elapsed = Math.max(elapsed, next.at);
          next.wake();
        }
        elapsed = end;
        await turn();
      },
    };
  };
  return make(wall);
}
