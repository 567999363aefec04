import { hash } from 'node:crypto';
import type { Sender } from './senders/sender.ts';
import { header, type Headers } from './signatures.ts';

/** The ids of a proven request. */
export interface DeliveryIdentity {
  /** The id that is shown. */
  deliveryId: string | undefined;
  /** Deliveries with the same one are accepted once, so that a recorded request cannot deploy again. */
  identity: string | undefined;
}

/**
 * The ids of a request whose proof is valid. An id that the proof does not cover does not count, since anyone who has
 * recorded a signed request can send it again with another: a signature of Standard Webhooks covers `webhook-id`, and a
 * git host's signed event is itself the identity.
 */
export function identityOf(
  sender: Pick<Sender, 'covers' | 'deliveryId'>,
  { headers, rawBody, body }: { headers: Headers; rawBody: Buffer; body: unknown },
): DeliveryIdentity {
  const coverage = headers['x-svc-token'] === undefined ? sender.covers(headers) : 'request';
  if (coverage === 'webhook-id') {
    const id = header(headers, 'webhook-id');
    return { deliveryId: id, identity: id };
  }
  if (coverage === 'event') {
    return { deliveryId: sender.deliveryId(headers, body), identity: `body:${hash('sha256', rawBody)}` };
  }
  const id = header(headers, 'idempotency-key') ?? sender.deliveryId(headers, body);
  return { deliveryId: id, identity: id };
}
