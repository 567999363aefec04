import { catalogue, type QueueDefinition } from '../../../runtime/queues/catalogue.ts';

/** As the catalogue's, in a hurry. */
export const hurried: QueueDefinition = {
  ...catalogue.rollouts,
  attempts: 3,
  backoffMs: 20,
  backoffMaxMs: 40,
  timeoutMs: 1_000,
};

/** How long BullMQ's lock on a job holds where a test lets it run out. */
export const lockMs = 500;
