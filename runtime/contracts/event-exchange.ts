import { z } from 'zod';

/** The audience of the tokens of the sidecars in function pods. */
export const eventsAudience = 'svc-events';

/** The port of console-api for sidecars; no public route leads to it. */
export const eventsPort = 8082;

/** The path that a managed object store sends notices about its buckets to. Pure. */
export function storeEventsPath(namespace: string, service: string): string {
  return `/stores/${namespace}/${service}`;
}

const lease = z.strictObject({
  /** The event's number. */
  id: z.string().regex(/^\d{1,19}$/),
  /** The number of the lease; answers to an older lease are ignored. */
  epoch: z.int().min(1),
});

/** `POST /exchange`: a sidecar reports on its leased events and requests more. */
export const eventExchange = z.strictObject({
  /** The function answered 2xx. */
  delivered: z.array(lease).max(1_000),
  failed: z
    .array(
      lease.extend({
        /** The HTTP status of the function's response, any three digits; absent if there was none. */
        status: z.int().min(0).max(999).optional(),
        message: z.string().max(1_000),
      }),
    )
    .max(1_000),
  /** Not attempted; they are due again at once. */
  released: z.array(lease).max(1_000),
  /** Being delivered or waiting for it: their leases are renewed. */
  held: z.array(lease).max(1_000),
  /** Maximum number of events. */
  max: z.int().min(0).max(500),
  /** How long to wait for an event, in ms. */
  waitMs: z.int().min(0).max(20_000),
});

export type EventExchange = z.infer<typeof eventExchange>;
export type Lease = z.infer<typeof lease>;
export type FailedDelivery = EventExchange['failed'][number];

/** An event for a sidecar to deliver. */
export interface LeasedEvent extends Lease {
  /** The source's id of the event. */
  eventId: string;
  /** JSON. */
  payload: string;
  /** The number of the delivery attempt, from 1. */
  attempt: number;
}

/** The response to an exchange. */
export interface EventGrant {
  events: LeasedEvent[];
  /** Of the `held` leases: those that are no longer valid. */
  lost: string[];
  /** How long the leases are valid from now, in ms. */
  leaseMs: number;
}
