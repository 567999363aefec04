import { Readable } from 'node:stream';
import { Problem } from '../domain/problem.ts';
import type { RecordAudit } from '../records/audit-entries.ts';
import { audit, FailedAfterEffect } from './audit.ts';
import { parseJson, parseShape, refuseNul } from './body.ts';
import { parseQuery } from './query.ts';
import {
  usersOnly,
  type Access,
  type AuthorizeProject,
  type LateReply,
  type ProjectGrant,
  type Route,
  type RouteReply,
  type RouteRequest,
  type Session,
} from './route.ts';

/** A request before its parameters and its body are parsed. */
export interface RawRequest extends Omit<RouteRequest<unknown, unknown, unknown>, 'params' | 'query' | 'body'> {
  params: Record<string, string>;
  query: Record<string, string | string[] | undefined>;
}

/**
 * Decides whether a signed-in caller may call a route that needs a session.
 * @param params the parameters of the path, of which `project` is read
 * @throws Problem `forbidden`, `password_change_required`, and those of `authorize`
 */
export async function admitSession(
  access: Exclude<Access, 'public' | 'webhook'>,
  session: Session,
  { project = '' }: Readonly<Record<string, string>>,
  authorize: AuthorizeProject,
): Promise<{ session: Session; grant?: ProjectGrant }> {
  if (access === 'principal') return { session };
  if (session.token && access !== 'bearer' && typeof access !== 'object') throw usersOnly();
  if (access === 'account') return { session };
  if (session.passwordChangeRequired) {
    throw new Problem(
      'password_change_required',
      'You signed in with a one-time password. Choose a new one first: run `svc user password`.',
    );
  }
  if (access === 'session' || access === 'bearer') return { session };
  if (access === 'platform-admin') {
    if (session.role === 'admin') return { session };
    throw new Problem('forbidden', 'This needs a platform admin.', { details: { needs: access } });
  }
  return { session, grant: await authorize(session, project, access) };
}

/**
 * Parses a request, calls the handler and writes the audit entry. The caller is admitted before ({@link admitSession}).
 * After it has returned, nothing holds the body.
 */
export async function perform(
  route: Route,
  { params, query, ...raw }: RawRequest,
  { checkReplies = false, recordAudit }: { checkReplies?: boolean | undefined; recordAudit: RecordAudit },
): Promise<RouteReply | LateReply> {
  refuseNul(params, 'params');
  refuseNul(query, 'query');
  const request: RouteRequest<unknown, unknown, unknown> = {
    ...raw,
    params: route.params ? parseShape(route.params, params, 'params') : {},
    query: parseQuery(route, query),
    body: bodyOf(route, raw),
  };
  const finish = (reply: RouteReply) => {
    if (checkReplies) checkReply(route, reply);
    return reply;
  };
  const reply = await handle(route, request, recordAudit);
  if (typeof reply === 'function') return async () => finish(await reply());
  await audit(route, request, finish(reply), recordAudit);
  return reply;
}

async function handle(
  route: Route,
  request: RouteRequest<unknown, unknown, unknown>,
  recordAudit: RecordAudit,
): Promise<RouteReply | LateReply> {
  try {
    return await route.handle(request);
  } catch (error) {
    if (!(error instanceof FailedAfterEffect)) throw error;
    await audit(route, request, { audit: error.fields }, recordAudit);
    throw error.cause;
  }
}

/** The parsed body of a request for a route that takes one. @throws Problem of {@link parseJson} */
export function bodyOf(
  { body: schema }: Pick<Route, 'body'>,
  { rawBody, headers }: Pick<RawRequest, 'rawBody' | 'headers'>,
): unknown {
  const type = headers['content-type'];
  return schema ? parseJson(schema, rawBody, typeof type === 'string' ? type : undefined) : undefined;
}

function checkReply(route: Route, { status, body }: RouteReply): void {
  const schema = route.replies[status];
  if (schema === undefined) throw new Error(`${route.method} ${route.path} does not declare ${status}`);
  if (body instanceof Readable) return;
  if (schema === null ? body !== undefined : !schema.safeParse(body).success) {
    throw new Error(`${route.method} ${route.path} returned a body that does not match its schema for ${status}`);
  }
}
