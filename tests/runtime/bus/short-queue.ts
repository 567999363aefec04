import { catalogue, type QueueDefinition } from '../../../runtime/queues/catalogue.ts';

/** Like the catalogue's queues, with short times. */
export const hurried: QueueDefinition = {
  ...catalogue.rollouts,
  attempts: 3,
  backoffMs: 20,
  backoffMaxMs: 40,
  timeoutMs: 1_000,
};

/** How long BullMQ's lock on a job lasts where a test lets it expire. */
export const lockMs = 500;
