import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { EventExchange, EventGrant } from '../../runtime/contracts/event-exchange.ts';
import type { NotifyWaiter } from '../../runtime/db/notify-waiter.ts';
import {
  extendLeases,
  leaseEvents,
  recordDelivered,
  recordFailed,
  releaseEvents,
} from '../../runtime/records/event-deliveries.ts';
import { expediteEvents } from '../../runtime/records/function-events.ts';
import type { Sidecar } from './identify.ts';
import type { DeliveryMetrics } from './metrics.ts';

/** A sidecar renews its leases several times before they expire. */
const defaultLeaseMs = 60_000;
/** Interval of reads, in ms: an event that is due again sends no NOTIFY. */
const pollMs = 2_000;

export interface ExchangeDependencies {
  pool: Pool;
  /** A listener on `eventsChannel` calls `notified`. */
  waits: NotifyWaiter;
  log: Logger;
  metrics: DeliveryMetrics;
  /** Duration of a lease, in ms; default 1 min. */
  leaseMs?: number;
}

/** Records the outcomes that a sidecar reports, then leases it more events. A repeated report counts once. */
export function createExchange({ pool, waits, log, metrics, leaseMs = defaultLeaseMs }: ExchangeDependencies) {
  const countFailures = (sidecar: Sidecar, retried: number, dead: readonly string[]) => {
    metrics.delivered(sidecar, 'failed', retried);
    metrics.delivered(sidecar, 'given_up', dead.length);
    for (const event of dead) {
      log.warn({ workloadId: sidecar.id, event }, 'an event became a dead letter');
    }
  };

  return async (sidecar: Sidecar, request: EventExchange, signal: AbortSignal): Promise<EventGrant> => {
    const workloadId = sidecar.id;
    const { delivered, failed, released, held, max, waitMs } = request;
    const success = await recordDelivered(pool, workloadId, delivered);
    metrics.delivered(sidecar, 'taken', success.counted);
    if (success.busy) await expediteEvents(pool, workloadId);
    const { counted, dead } = await recordFailed(pool, workloadId, failed);
    countFailures(sidecar, counted - dead.length, dead);
    await releaseEvents(pool, workloadId, released);
    const lost = await extendLeases(pool, workloadId, held, leaseMs);
    const ms = max === 0 ? 0 : waitMs;
    const events = await waits.waitFor(workloadId, { ms, everyMs: pollMs, signal }, async () => {
      const leasing = await leaseEvents(pool, workloadId, { max, leaseMs });
      countFailures(sidecar, leasing.lapsed, leasing.dead);
      return { value: leasing.events, done: leasing.events.length > 0 };
    });
    // The sidecar disconnected and does not receive them.
    if (signal.aborted) await releaseEvents(pool, workloadId, events);
    return { events, lost, leaseMs };
  };
}
