import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../../runtime/domain/clock.ts';
import { createLostDenials } from '../../runtime/process/denial-log.ts';
import type { PollOutcome } from './feed-poll.ts';
import type { Decision } from './verdict.ts';
import type { GateView } from './view.ts';

/** Exported with 0 from the start, so that rates can be computed (docs/reference/metrics.md#gate). */
const knownDecisions = ['allow', 'deny_key', 'deny_rate', 'deny_quota', 'unavailable', 'preflight'];

export interface GateMetrics {
  decided(decision: Decision): void;
  polled(outcome: PollOutcome): void;
  /** A write of usage failed; it is retried. */
  flushFailed(): void;
  /** The platform itself asked whether a route requires a key. */
  probed(): void;
  /** No log entry shows a denial. */
  denialLost(): void;
}

/** The metrics of the checker (docs/reference/metrics.md#gate). */
export function createGateMetrics(registry: Registry, view: GateView, clock: Clock): GateMetrics {
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
    probed() {
      probes.inc();
    },
    denialLost() {
      lostDenials.inc();
    },
  };
}
