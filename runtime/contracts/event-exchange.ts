import { z } from 'zod';

/** The audience of the tokens with which the sidecars of function pods ask for events. */
export const eventsAudience = 'svc-events';

/** Where console-api answers them: a port that no route leads to. */
export const eventsPort = 8082;

/** Where an object store that the platform runs tells of what comes and goes in its buckets. Pure. */
export function storeEventsPath(namespace: string, service: string): string {
  return `/stores/${namespace}/${service}`;
}

const lease = z.strictObject({
  /** Of the event. */
  id: z.string().regex(/^\d{1,19}$/),
  /** Of the lease; an answer to an older one is not heard. */
  epoch: z.int().min(1),
});

/** `POST /exchange`: what a sidecar tells of the events that it has leased, and what it wants. */
export const eventExchange = z.strictObject({
  /** The function answered 2xx. */
  delivered: z.array(lease).max(1_000),
  failed: z
    .array(
      lease.extend({
        /** What the function answered, any three digits; absent when it did not. */
        status: z.int().min(0).max(999).optional(),
        message: z.string().max(1_000),
      }),
    )
    .max(1_000),
  /** Not tried; they are due again at once. */
  released: z.array(lease).max(1_000),
  /** Being delivered or waiting for that: their leases begin anew. */
  held: z.array(lease).max(1_000),
  /** Events wanted at most. */
  max: z.int().min(0).max(500),
  /** How long the answer may wait for one to come, in ms. */
  waitMs: z.int().min(0).max(20_000),
});

export type EventExchange = z.infer<typeof eventExchange>;
export type Lease = z.infer<typeof lease>;
export type FailedDelivery = EventExchange['failed'][number];

/** An event that a sidecar is to deliver. */
export interface LeasedEvent extends Lease {
  /** What the source calls it. */
  eventId: string;
  /** A JSON text. */
  payload: string;
  /** Counts deliveries, from 1. */
  attempt: number;
}

/** The answer to an exchange. */
export interface EventGrant {
  events: LeasedEvent[];
  /** Of those held: the leases that do not count any more. */
  lost: string[];
  /** For how long the leases count from now, in ms. */
  leaseMs: number;
}
