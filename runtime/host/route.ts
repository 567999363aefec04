import type { Logger } from 'pino';
import type { z } from 'zod';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import type { PlatformRole, ProjectRole } from '../domain/roles.ts';

/**
 * Who may call a route outside projects. `session`: whoever is signed in; `account`: also with a one-time password,
 * which opens nothing else; `platform-admin`: admins of the platform; `webhook`: whoever proves the app's token, which
 * the handler checks.
 */
export type PlatformAccess = 'public' | 'account' | 'session' | 'platform-admin' | 'webhook';

/** Who may call a route of a project: whoever has at least this role in it (docs/roles.md). */
export interface ProjectAccess {
  project: ProjectRole;
  /** A request that carries `X-Svc-Token` needs no session; the handler checks the token. */
  orWebhook?: true;
}

/** Who may call a route. The host enforces it before it reads the body. */
export type Access = PlatformAccess | ProjectAccess;

/** What a route of this path has to declare: one of a project, and no other, names a role in it. */
export type AccessTo<Path extends string> = Path extends `${string}/:project` | `${string}/:project/${string}`
  ? ProjectAccess
  : PlatformAccess;

/** The signed-in person behind a request. */
export interface Session {
  sessionId: string;
  userId: string;
  email: string;
  role: PlatformRole;
  /** Signed in with a one-time password: nothing but choosing one's own is open. */
  passwordChangeRequired?: boolean;
}

/** What a caller has in the project of a request. */
export interface ProjectGrant {
  /** The project's identity; undefined until its controller has given it one. */
  projectId: Id | undefined;
  role: ProjectRole;
}

/**
 * Finds what a caller may do in a project. @throws Problem `not_found` for a project that is not there and, in the same
 * words, for one in which the caller has no role; `forbidden` for a lesser role than the needed one
 */
export type AuthorizeProject = (session: Session, project: string, needed: ProjectRole) => Promise<ProjectGrant>;

/**
 * Finds the session behind a request. @throws Problem `unauthenticated`; `cross_site` for a cookie that another
 * site made the browser send
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
  /** Set unless the route is public or a webhook's token stands for a session. */
  session: Session | undefined;
  /** Set on routes of a project that were called with a session. */
  grant: ProjectGrant | undefined;
  /** The caller's address as the ingress saw it: the last hop of X-Forwarded-For, else the peer. */
  clientAddress: string;
  requestId: string;
  log: Logger;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
}

export interface RouteReply {
  status: number;
  /** JSON, or text or a stream (`Readable`) with its own content type in `headers`; absent for 204. */
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

/**
 * Declares a route; only infers its types, and refuses one of a project that does not name the role it needs. The array
 * type of a folder's routes is `Route[]`.
 */
export function route<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  const Path extends string,
>(definition: Route<Params, Query, Body> & { path: Path; access: AccessTo<Path> }): Route {
  return definition;
}

/** The session of a request, which the host has set. */
export function sessionOf({ session }: Pick<RouteRequest<unknown, unknown, unknown>, 'session'>): Session {
  if (!session) throw new Error('the route is not declared with an access that needs a session');
  return session;
}

/** The identity of a request's project. @throws Problem `not_ready` until its controller has given it one */
export function projectIdOf({ grant }: Pick<RouteRequest<unknown, unknown, unknown>, 'grant'>): Id {
  if (!grant) throw new Error('the route is not declared with access to a project');
  if (grant.projectId !== undefined) return grant.projectId;
  throw new Problem('not_ready', 'The project is still being set up; try again in a moment.');
}
