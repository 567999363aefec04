import type { Pool } from 'pg';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { catalogue, type QueueName } from '../queues/catalogue.ts';
import type { JobQueue } from './job-queue.ts';
import { countWork, type WorkCounts } from './work-table.ts';

/** The result of an attempt. `lost`: its worker never reported a result. `stale`: a newer attempt exists. */
type AttemptOutcome = 'done' | 'again' | 'failed' | 'lost' | 'stale';

export interface BusMetrics {
  handedOver(queue: QueueName, count: number): void;
  attempted(queue: QueueName, outcome: AttemptOutcome, seconds?: number): void;
  /** Makes each scrape read the work table and the queues; leaves out what fails. */
  watch(pool: Pool, queues: readonly JobQueue[]): void;
}

/** The metrics of work and queues, each with the label `queue`. */
export function createBusMetrics(registry: Registry): BusMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string, collect?: () => Promise<void>) =>
    new Gauge({ name, help, labelNames: ['queue'], registers, ...(collect && { collect }) });
  const names = Object.keys(catalogue) as QueueName[];
  const handedOver = new Counter({
    name: 'svc_work_handed_over_total',
    help: 'Attempts added to the queue.',
    labelNames: ['queue'],
    registers,
  });
  const attempts = new Counter({
    name: 'svc_work_attempts_total',
    help: 'Attempts by outcome: done, again (more steps to do), failed, lost (no result), stale (superseded by a newer attempt).',
    labelNames: ['queue', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'svc_work_attempt_duration_seconds',
    help: 'Duration of attempts in seconds.',
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
    attempted(queue, outcome, duration) {
      attempts.inc({ queue, outcome });
      if (duration !== undefined) seconds.observe({ queue }, duration);
    },
    watch(pool, queues) {
      let currentCounts: Promise<WorkCounts[] | undefined> | undefined;
      // The gauges of one scrape share a query.
      const readCounts = () =>
        (currentCounts ??= countWork(pool)
          .catch(() => undefined)
          .finally(() => (currentCounts = undefined)));
      const workGauge = (name: string, help: string, value: (counts: WorkCounts) => number) => {
        const metric = gauge(name, help, async () => {
          const counts = await readCounts();
          metric.reset();
          for (const queue of counts ? names : []) {
            const count = counts?.find(({ kind }) => kind === queue);
            metric.set({ queue }, count ? value(count) : 0);
          }
        });
      };
      workGauge('svc_work_pending', 'Work rows that are not done.', ({ pending }) => pending);
      workGauge('svc_work_due', 'Work rows that are due and not yet in the queue.', ({ due }) => due);
      workGauge(
        'svc_work_oldest_due_seconds',
        'Time in seconds that the oldest due work row has been waiting.',
        ({ oldestDueSeconds }) => oldestDueSeconds,
      );
      const waiting = gauge('svc_queue_waiting', 'Jobs in Redis that no worker has started.', async () => {
        waiting.reset();
        for (const queue of queues.filter((candidate) => candidate.ready())) {
          const jobs = await queue.waiting().catch(() => undefined);
          if (jobs !== undefined) waiting.set({ queue: queue.name }, jobs);
        }
      });
    },
  };
}
