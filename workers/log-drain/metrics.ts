import type { Pool } from 'pg';
import { Counter, Gauge, type Registry } from 'prom-client';
import { findLogDrain, type DrainedPage } from '../../runtime/records/log-drain.ts';

/** Counts of the log drain. */
export interface LogDrainMetrics {
  /** Counts the lines of a page. */
  page(page: Pick<DrainedPage, 'sent' | 'refused' | 'deleted'>): void;
  /** Counts an attempt to send a page. */
  attempt(outcome: 'accepted' | 'refused' | 'failed'): void;
}

/** Registers the figures of the log drain. The gauges are empty without a drain, and while the database fails. */
export function createLogDrainMetrics(registry: Registry, pool: Pool): LogDrainMetrics {
  const registers = [registry];
  const sent = new Counter({ name: 'svc_log_drain_sent_lines_total', help: 'Lines that were sent.', registers });
  const dropped = new Counter({
    name: 'svc_log_drain_dropped_lines_total',
    help: 'Lines that were not sent, because the receiver refused them or the log store deleted them before.',
    labelNames: ['reason'],
    registers,
  });
  const attempts = new Counter({
    name: 'svc_log_drain_requests_total',
    help: 'Batches that were sent to the receiver, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const pending: Gauge = new Gauge({
    name: 'svc_log_drain_pending_lines',
    help: 'Lines that wait to be sent.',
    registers,
    async collect() {
      const drain = await findLogDrain(pool).catch(() => undefined);
      if (drain) pending.set(drain.pendingLines);
      else pending.remove();
    },
  });
  const failing: Gauge = new Gauge({
    name: 'svc_log_drain_failing_seconds',
    help: 'How long the log drain has been failing; 0 while it works.',
    registers,
    async collect() {
      const drain = await findLogDrain(pool).catch(() => undefined);
      if (drain) failing.set(drain.failingSince ? Math.max(0, (Date.now() - drain.failingSince.getTime()) / 1000) : 0);
      else failing.remove();
    },
  });
  return {
    page(page) {
      sent.inc(page.sent);
      dropped.inc({ reason: 'refused' }, page.refused);
      dropped.inc({ reason: 'deleted' }, page.deleted);
    },
    attempt: (outcome) => attempts.inc({ outcome }),
  };
}
