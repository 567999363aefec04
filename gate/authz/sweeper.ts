import type { Clock } from '../../runtime/domain/clock.ts';
import type { RateBuckets } from './rate-limit.ts';
import type { GateView } from './view.ts';

const sweepEveryMs = 1_000;

export interface SweeperDependencies {
  buckets: RateBuckets;
  view: Pick<GateView, 'keyById'>;
  clock: Clock;
}

/** Keeps the memory of rate buckets to that of the keys that have traffic. */
export interface Sweeper {
  start(): void;
  stop(): Promise<void>;
}

export function createSweeper({ buckets, view, clock }: SweeperDependencies): Sweeper {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const run = async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(sweepEveryMs, stopping.signal).catch(() => undefined);
      buckets.sweep((keyId) => view.keyById(keyId)?.plan, clock.monotonic());
    }
  };
  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
