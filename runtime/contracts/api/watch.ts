import { z } from 'zod';

/** The kinds of a change. */
const watchKinds = [
  'Project',
  'App',
  'Function',
  'Job',
  'Service',
  'Volume',
  'Deployment',
  'WebhookDelivery',
  'Event',
  'Plan',
  'Key',
  'Member',
  'Notification',
] as const;

export type WatchKind = (typeof watchKinds)[number];

/** Query of `GET /projects/{project}/watch`. */
export const watchQuery = z.object({
  environment: z
    .string()
    .max(63)
    .optional()
    .describe('Only changes of this environment (default: all of the project).'),
  cursor: z
    .string()
    .max(100)
    .optional()
    .describe('The `cursor` of the last message of an earlier stream: continues after it (default: from now on).'),
});

/** What changed. Fields that a kind does not have are absent. */
const change = {
  kind: z.enum(watchKinds),
  environment: z.string().optional(),
  /** The object's name; of a `Deployment` and a `WebhookDelivery` the app's, of an `Event` the function's. */
  name: z.string().optional(),
  /** The object's id; of a `Deployment` and a `WebhookDelivery`, the id of the newest. */
  id: z.string().optional(),
  /** The `resourceVersion` of a Kubernetes object. */
  version: z.string().optional(),
};

/**
 * One line of the stream. `ready` is the first: every later change follows. `reset` replaces it, or interrupts the stream,
 * when changes before it are unknown: the client reads again what it shows.
 */
export const watchMessage = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['ready', 'reset']), cursor: z.string() }),
  z.object({ type: z.enum(['added', 'modified', 'deleted']), ...change, cursor: z.string() }),
]);

export type WatchMessage = z.infer<typeof watchMessage>;
