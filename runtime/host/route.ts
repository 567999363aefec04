import type { Logger } from 'pino';
import type { z } from 'zod';

/**
 * Who may call a route. `webhook` routes prove themselves by a token that the handler checks; `session-or-webhook`
 * routes do so when the request carries one (`X-Svc-Token`), and otherwise need a session.
 */
export type Access = 'public' | 'session' | 'webhook' | 'session-or-webhook';

/** The signed-in person behind a request. */
export interface Session {
  sessionId: string;
  userId: string;
  email: string;
  role: 'admin' | 'member';
}

/**
 * Finds the session behind a request. @throws Problem `unauthenticated`; `forbidden` for a cookie that another site
 * made the browser send
 */
export type Authenticate = (request: {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}) => Promise<Session>;

/** What a handler gets: everything parsed and checked, nothing of Koa. */
export interface RouteRequest<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  /** The exact bytes of the body, for signatures. */
  rawBody: Buffer;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Set on `session` routes. */
  session: Session | undefined;
  /** The caller's address as the ingress saw it: the last hop of X-Forwarded-For, else the peer. */
  clientAddress: string;
  requestId: string;
  log: Logger;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
}

export interface RouteReply {
  status: number;
  /** JSON, or text with its own content type in `headers`; absent for 204. */
  body?: unknown;
  headers?: Record<string, string>;
}

/**
 * One operation of the management API. The schemas validate the request (400/422 with a stable code) and make the
 * OpenAPI document. Paths are written below `/api/v1` in @koa/router's syntax, such as `/projects/:project/plans`.
 */
export interface Route<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  access: Access;
  /** One sentence for the OpenAPI document. */
  summary: string;
  /** The OpenAPI tag: the folder's name. */
  tag: string;
  params?: Params;
  query?: Query;
  /** Absent: the route takes no JSON body. An empty body counts as `{}`. */
  body?: Body;
  /** Describes a body that the handler itself parses (`parseJson`) once its own checks of `rawBody` have passed. */
  lateBody?: z.ZodType;
  /** HTTP status → schema of the answer's body; null for none. */
  replies: Readonly<Record<number, z.ZodType | null>>;
  handle(request: RouteRequest<z.output<Params>, z.output<Query>, z.output<Body>>): Promise<RouteReply>;
}

/** Declares a route; only infers its types. The array type of a folder's routes is `Route[]`. */
export function route<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType>(
  definition: Route<Params, Query, Body>,
): Route {
  return definition;
}

/** The session of a `session` route's request, which the host has set. */
export function sessionOf({ session }: Pick<RouteRequest<unknown, unknown, unknown>, 'session'>): Session {
  if (!session) throw new Error('the route is not declared with access "session"');
  return session;
}
