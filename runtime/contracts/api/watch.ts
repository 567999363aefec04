import { z } from 'zod';
import { includesScope, type TokenScope } from '../../domain/access-token.ts';
import { includesRole, type ProjectRole } from '../../domain/roles.ts';

/**
 * The kinds of a change, each with the access that its list needs: a stream carries only what its caller may list. Without
 * a scope, no access token gets it.
 */
const watchKinds = {
  Project: { project: 'viewer', scope: 'read' },
  App: { project: 'viewer', scope: 'read' },
  Function: { project: 'viewer', scope: 'read' },
  Job: { project: 'viewer', scope: 'read' },
  Service: { project: 'viewer', scope: 'read' },
  Volume: { project: 'viewer', scope: 'read' },
  Deployment: { project: 'viewer', scope: 'read' },
  WebhookDelivery: { project: 'viewer', scope: 'read' },
  Event: { project: 'viewer', scope: 'read' },
  Plan: { project: 'viewer', scope: 'read' },
  Key: { project: 'viewer', scope: 'read' },
  Member: { project: 'viewer' },
  Notification: { project: 'admin' },
} as const satisfies Record<string, { project: ProjectRole; scope?: TokenScope }>;

export type WatchKind = keyof typeof watchKinds;

/** Whether a caller with this role, and with these scopes of an access token, may list a kind. */
export function mayList(kind: WatchKind, role: ProjectRole, scopes: readonly TokenScope[] | undefined): boolean {
  const { project, scope }: { project: ProjectRole; scope?: TokenScope } = watchKinds[kind];
  if (!includesRole(role, project)) return false;
  return scopes === undefined || (scope !== undefined && includesScope(scopes, scope));
}

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
  kind: z.enum(Object.keys(watchKinds) as [WatchKind, ...WatchKind[]]),
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
