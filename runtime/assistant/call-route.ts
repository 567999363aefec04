import type { Logger } from 'pino';
import type { Id } from '../domain/ids.ts';
import type { RecordAudit } from '../records/audit-entries.ts';
import { admitSession, bodyOf, perform } from '../http/perform.ts';
import { limitToEnvironment, parseQuery } from '../http/query.ts';
import { parseShape } from '../http/body.ts';
import type { AuthorizeProject, Route, RouteReply, Session } from '../http/route.ts';

/** Who calls a tool, and the request in which. */
export interface ToolCaller {
  session: Session;
  clientAddress: string;
  requestId: string;
  log: Logger;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
}

/** The parts of a request, as a client would write them. */
export interface ToolRequest {
  params: Record<string, string>;
  query: Record<string, string>;
  body?: object | undefined;
}

/** The project in which the caller has the rights that a request needs; undefined for a request outside projects. */
interface Admitted {
  projectId: Id | undefined;
}

/** Calls routes in the name of a tool's caller, in this process. */
export interface RouteCaller {
  /** Checks the caller's rights and the request, as the API does, and sends nothing. @throws Problem */
  check(route: Route, caller: ToolCaller, request: ToolRequest): Promise<Admitted>;
  /** The reply of the API to the same request. @throws Problem */
  call(route: Route, caller: ToolCaller, request: ToolRequest): Promise<Admitted & { reply: RouteReply }>;
}

/**
 * Calls routes with the checks of an HTTP request: the caller's role and scopes, the environment of its token, and the
 * schemas (`runtime/http/perform.ts`). The handler gets no header of the client.
 */
export function createRouteCaller({
  authorize,
  recordAudit,
}: {
  authorize: AuthorizeProject;
  /** Stores the audit entries of routes that change something. */
  recordAudit: RecordAudit;
}): RouteCaller {
  const admit = async (route: Route, { session }: ToolCaller, { params, query }: ToolRequest) => {
    const { access } = route;
    if (access === 'public' || access === 'webhook') throw new Error(`${route.path} takes no session`);
    const { grant } = await admitSession(access, session, params, authorize);
    return { grant, query: limitToEnvironment(route, query, grant) };
  };
  const rawOf = ({ body }: ToolRequest) => ({
    rawBody: body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body)),
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
  });

  return {
    async check(route, caller, request) {
      const { grant, query } = await admit(route, caller, request);
      if (route.params) parseShape(route.params, request.params, 'params');
      parseQuery(route, query);
      bodyOf(route, rawOf(request));
      return { projectId: grant?.projectId };
    },
    async call(route, caller, request) {
      const { grant, query } = await admit(route, caller, request);
      const { params } = request;
      const raw = { ...caller, ...rawOf(request), params, query, grant };
      const reply = await perform(route, raw, { recordAudit });
      return { reply: typeof reply === 'function' ? await reply() : reply, projectId: grant?.projectId };
    },
  };
}
