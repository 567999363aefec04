import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import { createFeedPoll, type PollOutcome } from './feed-poll.ts';
import type { GateStore } from './gate-store.ts';
import type { SharedRates } from './shared-rates.ts';
import { createStoreConnection } from './store-connection.ts';
import type { Usage } from './usage.ts';
import type { GateView } from './view.ts';

/** Polls alone keep the view fresh and apply revocations within seconds. A NOTIFY only speeds this up. */
const pollEveryMs = 1_000;
const retryMinMs = 250;
const retryMaxMs = 5_000;

export interface FeedDependencies {
  store: GateStore;
  view: GateView;
  usage: Usage;
  rates: Pick<SharedRates, 'counted' | 'shared'>;
  /** The replica's name: its pod's. */
  name: string;
  clock: Clock;
  log: Logger;
  /** Called after the first load, before any request can be allowed. */
  onFirstLoad?: () => void;
  /** Called after every poll, for metrics. */
  observe?: (outcome: PollOutcome) => void;
}

/** Keeps a view current. */
export interface Feed {
  /** Starts polling and returns at once. Failures are retried forever and show in the view's age. */
  start(): void;
  /** Polls now instead of after the interval. */
  nudge(): void;
  stop(): Promise<void>;
}

/**
 * Follows the feed and the usage of other replicas on one connection, which it reopens after every failure. It also
 * maintains the replica's own record: when another process closed its incarnation, or the wall clock went back by days,
 * usage continues under a new incarnation (decision 0008).
 */
export function createFeed({
  store,
  view,
  usage,
  rates,
  name,
  clock,
  log,
  onFirstLoad,
  observe,
}: FeedDependencies): Feed {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let notified = false;
  let wake: (() => void) | undefined;

  const nudge = () => {
    notified = true;
    wake?.();
  };

  /** Sleeps until `ms` have passed, a notification comes, or the feed stops. */
  const sleep = async (ms: number) => {
    if (notified || stopping.signal.aborted) return;
    const timer = new AbortController();
    wake = () => timer.abort();
    await clock.sleep(ms, timer.signal).catch(() => undefined);
    wake = undefined;
  };

  const { session, withTimeout, drop } = createStoreConnection({ store, clock, signal: stopping.signal }, nudge);
  const poll = createFeedPoll({ view, usage, rates, name, clock, log, withTimeout, onFirstLoad });

  const run = async () => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      notified = false;
      try {
        const outcome = await poll(await session());
        if (failures > 0) log.info({ failures }, 'feed recovered');
        failures = 0;
        observe?.(outcome);
        await sleep(pollEveryMs);
      } catch (error) {
        drop();
        if (stopping.signal.aborted) return;
        if (failures === 0) log.warn({ err: error }, 'feed failed');
        else log.debug({ err: error }, 'feed failed again');
        const limit = Math.min(retryMaxMs, retryMinMs * 2 ** failures);
        failures++;
        observe?.('failed');
        // The lost connection may have nudged, which would turn this into a busy loop.
        notified = false;
        await sleep(limit / 2 + Math.random() * (limit / 2));
      }
    }
  };

  return {
    start() {
      running ??= run();
    },
    nudge,
    async stop() {
      stopping.abort();
      wake?.();
      drop();
      await running;
    },
  };
}
