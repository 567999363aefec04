import type { Pool } from 'pg';
import type { z } from 'zod';
import type { AuditEntryView, platformAuditQuery } from '../../runtime/contracts/api/audit.ts';
import { normaliseEmail } from '../../runtime/domain/email.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { projectIdOf, route, sessionOf, type Route, type RouteReply, type Session } from '../../runtime/http/route.ts';
import { listAuditEntries, type AuditEntry } from '../../runtime/records/audit-entries.ts';
import { listPlatformAuditSchema, listProjectAuditSchema } from './schema.ts';

const tag = 'audit';

/** Whether an address has an account, and which, is for platform admins only, as in lists of members. */
function detailsFor({ role }: Session, { details }: AuditEntry): Record<string, unknown> {
  const { user } = details;
  if (role === 'admin' || typeof user !== 'object' || user === null) return details;
  const { id: _, ...rest } = user as Record<string, unknown>;
  return { ...details, user: rest };
}

function toView(entry: AuditEntry, viewer: Session): AuditEntryView {
  const { id, at, action, actor, tokenId, token, project, environment, objectKind, object, requestId } = entry;
  return {
    id,
    at: at.toISOString(),
    action,
    actor,
    ...(tokenId !== null && { token: { id: tokenId, name: token ?? '' } }),
    ...(project !== null && { project }),
    ...(environment !== null && { environment }),
    ...(objectKind !== null && object !== null && { object: { kind: objectKind, name: object } }),
    ...(requestId !== null && { requestId }),
    details: detailsFor(viewer, entry),
  };
}

/**
 * The audit log (docs/reference/logs.md#audit): that of a project for its admins, and all of it for platform admins, who
 * also see what concerns no project or a deleted one. For users only, because no access token may do what an admin may.
 */
export function createAuditRoutes({ pool }: { pool: Pool }): Route[] {
  const list = async (
    { limit, cursor, actor, since, until, ...filters }: z.output<typeof platformAuditQuery>,
    viewer: Session,
    projectId?: Id,
  ): Promise<RouteReply> => {
    const rows = await listAuditEntries(pool, {
      ...filters,
      projectId,
      actor: actor === undefined ? undefined : normaliseEmail(actor),
      since: since === undefined ? undefined : new Date(since),
      until: until === undefined ? undefined : new Date(until),
      limit: limit + 1,
      before: cursor,
    });
    const toItem = (entry: AuditEntry) => toView(entry, viewer);
    return { status: 200, body: pageOfRows(rows, limit, { cursorOf: ({ id }) => id, toItem }) };
  };

  return [
    route({
      ...listProjectAuditSchema,
      method: 'GET',
      path: '/projects/:project/audit',
      access: { project: 'admin' },
      tag,
      summary: 'Lists the audit entries of a project of the last 90 days, newest first. All filters are optional.',
      handle: (request) => list(request.query, sessionOf(request), projectIdOf(request)),
    }),
    route({
      ...listPlatformAuditSchema,
      method: 'GET',
      path: '/platform/audit',
      access: 'platform-admin',
      tag,
      summary:
        'Lists the audit entries of the platform and of all projects, also deleted ones, of the last 90 days, newest first.',
      handle: (request) => list(request.query, sessionOf(request)),
    }),
  ];
}
