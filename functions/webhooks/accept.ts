import type { Pool } from 'pg';
import {
  acceptDeliveries,
  acceptDelivery,
  type AcceptedDelivery,
  type DeliveredRequest,
} from '../../runtime/records/webhook-deliveries.ts';
import type { Announcements } from './announcements.ts';
import { createBatches } from './batches.ts';

/** Accepts what a delivery asks for, and has it announced. @throws Problem as `acceptDeployment` does; nothing is written then */
export type AcceptDelivery = (request: DeliveredRequest) => Promise<AcceptedDelivery>;

/** What comes while others are accepted shares a statement and its commit (decision 0034). */
export function createAccept({
  pool,
  announcements,
}: {
  pool: Pool;
  announcements: Pick<Announcements, 'add'>;
}): AcceptDelivery {
  const acceptSoon = createBatches({
    run: (requests: readonly DeliveredRequest[]) => acceptDeliveries(pool, requests),
  });
  return async (request) => {
    // Who has to wait, or is refused, is so by itself.
    const { superseded, ...accepted } = (await acceptSoon(request)) ?? (await acceptDelivery(pool, request));
    if (accepted.verdict === 'accepted') announcements.add(superseded);
    return accepted;
  };
}
