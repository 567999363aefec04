import type { Pool } from 'pg';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { catalogue, type QueueName } from '../queues/catalogue.ts';
import type { JobQueue } from './job-queue.ts';
import { countWork, type WorkCounts } from './work-table.ts';

/** How an attempt ended; `lost` never answered, `stale` was not the newest any more. */
export type AttemptOutcome = 'done' | 'again' | 'failed' | 'lost' | 'stale';

export interface BusMetrics {
  handedOver(queue: QueueName, count: number): void;
  attempted(queue: QueueName, outcome: AttemptOutcome, seconds?: number): void;
  /** From then on each scrape looks at the work table and the queues; what does not answer is left out. */
  watch(pool: Pool, queues: readonly JobQueue[]): void;
}

/** Metrics of the bus, one label `queue` each. */
export function createBusMetrics(registry: Registry): BusMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string, collect?: () => Promise<void>) =>
    new Gauge({ name, help, labelNames: ['queue'], registers, ...(collect && { collect }) });
  const names = Object.keys(catalogue) as QueueName[];
  const handedOver = new Counter({
    name: 'svc_work_handed_over_total',
    help: 'Attempts that were handed over to the queue.',
    labelNames: ['queue'],
    registers,
  });
  const attempts = new Counter({
    name: 'svc_work_attempts_total',
    help: 'Attempts by how they ended: done, again (got further), failed, lost (never answered), stale (ignored).',
    labelNames: ['queue', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'svc_work_attempt_duration_seconds',
    help: 'How long attempts took.',
    labelNames: ['queue'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  });
  for (const queue of names) {
    handedOver.inc({ queue }, 0);
    for (const outcome of ['done', 'again', 'failed', 'lost', 'stale']) attempts.inc({ queue, outcome }, 0);
  }

  return {
    handedOver: (queue, count) => handedOver.inc({ queue }, count),
    attempted(queue, outcome, took) {
      attempts.inc({ queue, outcome });
      if (took !== undefined) seconds.observe({ queue }, took);
    },
    watch(pool, queues) {
      let looking: Promise<WorkCounts[] | undefined> | undefined;
      // The gauges of one scrape share a query.
      const look = () =>
        (looking ??= countWork(pool)
          .catch(() => undefined)
          .finally(() => (looking = undefined)));
      const ofWork = (name: string, help: string, value: (counts: WorkCounts) => number) => {
        const each = gauge(name, help, async () => {
          const counts = await look();
          each.reset();
          for (const queue of counts ? names : []) {
            const found = counts?.find(({ kind }) => kind === queue);
            each.set({ queue }, found ? value(found) : 0);
          }
        });
      };
      ofWork('svc_work_pending', 'Work that is not done.', ({ pending }) => pending);
      ofWork('svc_work_due', 'Work that is due and not handed over.', ({ due }) => due);
      ofWork(
        'svc_work_oldest_due_seconds',
        'For how long the longest due work has been waiting.',
        ({ oldestDueSeconds }) => oldestDueSeconds,
      );
      const waiting = gauge('svc_queue_waiting', 'Jobs in Redis that no worker has taken yet.', async () => {
        waiting.reset();
        for (const queue of queues.filter((each) => each.ready())) {
          const jobs = await queue.waiting().catch(() => undefined);
          if (jobs !== undefined) waiting.set({ queue: queue.name }, jobs);
        }
      });
    },
  };
}
