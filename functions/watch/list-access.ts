import type { WatchKind } from '../../runtime/contracts/api/watch.ts';
import { includesScope, type TokenScope } from '../../runtime/domain/token-scopes.ts';
import { includesRole, type ProjectRole } from '../../runtime/domain/roles.ts';

/**
 * The access that the list of each kind needs: a stream carries only what its caller may list. Without a scope, no access
 * token gets it.
 */
const listAccess = {
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
} as const satisfies Record<WatchKind, { project: ProjectRole; scope?: TokenScope }>;

/** Whether a caller with this role, and with these scopes of an access token, may list a kind. */
export function mayList(kind: WatchKind, role: ProjectRole, scopes: readonly TokenScope[] | undefined): boolean {
  const { project, scope }: { project: ProjectRole; scope?: TokenScope } = listAccess[kind];
  if (!includesRole(role, project)) return false;
  return scopes === undefined || (scope !== undefined && includesScope(scopes, scope));
}
