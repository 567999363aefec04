import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { EventExchange, EventGrant } from '../../runtime/contracts/event-exchange.ts';
import type { ToldWaits } from '../../runtime/host/told-waits.ts';
import {
  extendLeases,
  leaseEvents,
  recordDelivered,
  recordFailed,
  releaseEvents,
} from '../../runtime/records/event-deliveries.ts';
import { hastenEvents } from '../../runtime/records/function-events.ts';
import type { Sidecar } from './identify.ts';
import type { DeliveryMetrics } from './metrics.ts';

/** A sidecar renews its leases several times before they run out. */
const defaultLeaseMs = 60_000;
/** Events that are due again are told of by nobody. */
const lookEveryMs = 2_000;

export interface ExchangeDependencies {
  pool: Pool;
  /** Told by a listener on `eventsChannel`. */
  waits: ToldWaits;
  log: Logger;
  metrics: DeliveryMetrics;
  /** How long a lease counts; default 1 min. */
  leaseMs?: number;
}

/** Takes what a sidecar tells of its events, then leases it others. What it tells twice counts once. */
export function createExchange({ pool, waits, log, metrics, leaseMs = defaultLeaseMs }: ExchangeDependencies) {
  const failedOf = (sidecar: Sidecar, again: number, dead: readonly string[]) => {
    metrics.delivered(sidecar, 'failed', again);
    metrics.delivered(sidecar, 'given_up', dead.length);
    for (const event of dead) {
      log.warn({ workloadId: sidecar.id, event }, 'event given up, it is a dead letter now');
    }
  };

  return async (sidecar: Sidecar, request: EventExchange, signal: AbortSignal): Promise<EventGrant> => {
    const workloadId = sidecar.id;
    const { delivered, failed, released, held, max, waitMs } = request;
    const taken = await recordDelivered(pool, workloadId, delivered);
    metrics.delivered(sidecar, 'taken', taken.counted);
    if (taken.busy) await hastenEvents(pool, workloadId);
    const { counted, dead } = await recordFailed(pool, workloadId, failed);
    failedOf(sidecar, counted - dead.length, dead);
    await releaseEvents(pool, workloadId, released);
    const lost = await extendLeases(pool, workloadId, held, leaseMs);
    const ms = max === 0 ? 0 : waitMs;
    const events = await waits.until(workloadId, { ms, everyMs: lookEveryMs, signal }, async () => {
      const leasing = await leaseEvents(pool, workloadId, { max, leaseMs });
      failedOf(sidecar, leasing.lapsed, leasing.dead);
      return { found: leasing.events, over: leasing.events.length > 0 };
    });
    // Nobody is there any more to get them.
    if (signal.aborted) await releaseEvents(pool, workloadId, events);
    return { events, lost, leaseMs };
  };
}
