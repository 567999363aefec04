import { getHeapStatistics } from 'node:v8';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../../runtime/domain/clock.ts';
import { createLostDenials } from '../../runtime/process/denial-log.ts';
import type { PollOutcome } from './feed-poll.ts';
import type { SharedRates } from './shared-rates.ts';
import type { Decision } from './verdict.ts';
import type { GateView } from './view.ts';

/** Exported with 0 from the start, so that rates can be computed (docs/reference/metrics.md#gate). */
const knownDecisions = ['allow', 'deny_key', 'deny_rate', 'deny_quota', 'unavailable', 'preflight'];

export interface GateMetrics {
  decided(decision: Decision): void;
  polled(outcome: PollOutcome): void;
  /** A write of usage failed; it is retried. */
  flushFailed(): void;
  /** The exchange of rates with the other replicas ended; it is tried again. */
  exchangeFailed(): void;
  /** The platform itself asked whether a route requires a key. */
  probed(): void;
  /** No log entry shows a denial. */
  denialLost(): void;
}

export interface GateMetricsSources {
  view: Pick<GateView, 'ageMs' | 'size'>;
  rates: Pick<SharedRates, 'shared'>;
  clock: Clock;
}

/** The share of its memory that this process uses: of the container's, or of what V8 may take for objects. */
function usedMemory(): number {
  const { used_heap_size: heap, heap_size_limit: heapLimit } = getHeapStatistics();
  const limit = process.constrainedMemory();
  return Math.max(heap / heapLimit, limit > 0 ? process.memoryUsage.rss() / limit : 0);
}

/** The metrics of the checker (docs/reference/metrics.md#gate). */
export function createGateMetrics(registry: Registry, { view, rates, clock }: GateMetricsSources): GateMetrics {
  // Plain numbers, since every verdict counts; the registry reads them at each scrape.
  const decisions: Record<string, number> = Object.fromEntries(knownDecisions.map((decision) => [decision, 0]));
  const requests: Counter = new Counter({
    name: 'authz_requests_total',
    help: 'Requests to gated routes, by decision.',
    labelNames: ['decision'],
    registers: [registry],
    collect() {
      requests.reset();
      for (const [decision, count] of Object.entries(decisions)) requests.inc({ decision }, count);
    },
  });
  const fresh: Gauge = new Gauge({
    name: 'authz_cache_fresh_seconds',
    help: 'Seconds since the replica last proved that its keys, plans and usage are current; -1 before the first success.',
    registers: [registry],
    collect() {
      const age = view.ageMs(clock.monotonic());
      fresh.set(age === undefined ? -1 : age / 1000);
    },
  });
  const keys: Gauge = new Gauge({
    name: 'authz_keys',
    help: 'Keys in memory.',
    registers: [registry],
    collect() {
      keys.set(view.size().keys);
    },
  });
  const memory: Gauge = new Gauge({
    name: 'authz_memory_used_ratio',
    help: 'Share of the memory limit that is used, or of what V8 may take for objects if that is greater.',
    registers: [registry],
    collect() {
      memory.set(usedMemory());
    },
  });
  const shared: Gauge = new Gauge({
    name: 'authz_rates_shared',
    help: 'Whether the replica shares rate limits with the others, or is the only one; 0 while it limits on its own.',
    registers: [registry],
    collect() {
      shared.set(rates.shared() ? 1 : 0);
    },
  });
  const exchangeFailures = new Counter({
    name: 'authz_rate_exchange_failures_total',
    help: 'Times that the exchange of rates with the other replicas failed. Until it works again, each limits on its own.',
    registers: [registry],
  });
  const polls = new Counter({
    name: 'authz_feed_polls_total',
    help: 'Polls of the change feed, by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const flushFailures = new Counter({
    name: 'authz_rollup_flush_failures_total',
    help: 'Failed writes of usage counters. Each is retried; unwritten counts are lost when the process is killed.',
    registers: [registry],
  });

  const probes = new Counter({
    name: 'authz_probes_total',
    help: 'Checks by the platform itself whether a route requires a key; they are no denials.',
    registers: [registry],
  });
  const lostDenials = createLostDenials(registry);

  return {
    decided(decision) {
      decisions[decision] = (decisions[decision] ?? 0) + 1;
    },
    polled(outcome) {
      polls.inc({ outcome });
    },
    flushFailed() {
      flushFailures.inc();
    },
    exchangeFailed() {
      exchangeFailures.inc();
    },
    probed() {
      probes.inc();
    },
    denialLost() {
      lostDenials.inc();
    },
  };
}
