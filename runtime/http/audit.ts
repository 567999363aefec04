import type { AuditLine } from '../domain/audit.ts';
import { Problem } from '../domain/problem.ts';
import type { RecordAudit } from '../records/audit-entries.ts';
import { actorOf, type AuditFields, type Route, type RouteReply, type RouteRequest, type Session } from './route.ts';

/** Thrown by a handler whose request failed after it had an effect, so that it has an audit entry as well. */
export class FailedAfterEffect extends Error {
  override readonly name = 'FailedAfterEffect';
  readonly fields: AuditFields;
  /** @param cause the reason that the client sees */
  constructor(cause: unknown, fields: AuditFields) {
    super('the request failed after it had an effect', { cause });
    this.fields = fields;
  }
}

/**
 * Writes the audit entry of a route that declares an action (docs/reference/logs.md#audit): a log line, and a row before
 * the response is sent. If the row cannot be stored, what was changed stays changed, and the line says so. A route that
 * reads has done nothing before its response, so it is refused (docs/decisions/0070-audit-entries.md).
 * @throws Problem `unavailable`
 */
export async function audit(
  { audit: declared, auditMessage = 'audit', method }: Route,
  { params, session, grant, log, requestId }: RouteRequest<unknown, unknown, unknown>,
  { audit: fields }: Pick<RouteReply, 'audit'>,
  record: RecordAudit,
): Promise<void> {
  if (declared === undefined || fields === false) return;
  const projectId = grant?.projectId;
  const subject = { ...(params as object), ...(projectId !== undefined && { projectId }) };
  const line: AuditLine = { action: declared, method, ...subject, ...fields, ...actorFields(session) };
  log.info(line, auditMessage);
  try {
    await record({ line, requestId });
  } catch (cause) {
    if (method === 'GET') {
      throw new Problem(
        'unavailable',
        'This access cannot be recorded in the audit log at the moment, so it is refused. Try again in a moment.',
        { cause },
      );
    }
    log.error({ err: cause, action: line.action }, 'audit entry not stored');
  }
}

/** The fields of an audit line that say who acts; for an access token also which, and for whom. */
function actorFields(session: Session | undefined): Pick<AuditLine, 'actor' | 'token'> {
  if (!session) throw new Error('a route without a session cannot be audited');
  const { token, sessionId, email } = session;
  return { actor: actorOf(session), ...(token && { token: { id: sessionId, name: token.name, user: email } }) };
}
