import type { Logger } from 'pino';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import type { AuditAction } from '../domain/audit.ts';
import { includesScope, type TokenScope } from '../domain/token-scopes.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import type { PlatformRole, ProjectRole } from '../domain/roles.ts';

/**
 * Who may call a route outside projects. `session`: any user who is signed in. `account`: also a user who signed in with a
 * one-time password, which is valid for nothing else. `principal`: also an access token. `bearer`: a user or an access token
 * by the header `Authorization`, never by a cookie. `platform-admin`: platform admins. `webhook`: a sender that proves the
 * app's webhook token, which the handler verifies.
 */
type PlatformAccess = 'public' | 'principal' | 'account' | 'session' | 'bearer' | 'platform-admin' | 'webhook';

/** Who may call a route of a project: users with at least this role in the project (docs/reference/roles.md). */
export interface ProjectAccess {
  project: ProjectRole;
  /** Access tokens with this scope may call the route, too; without it, no token may (docs/reference/tokens.md). */
  scope?: TokenScope;
  /**
   * How a token of one environment is kept in it. By default, the host sets the query's `environment`, and refuses such
   * tokens on routes without this parameter. `handler`: the handler checks `grant.environment`.
   */
  environment?: 'handler';
  /** A request that carries `X-Svc-Token` needs no session; the handler verifies the token. */
  orWebhook?: true;
}

/** Who may call a route. The host checks it before it reads the body. */
export type Access = PlatformAccess | ProjectAccess;

/** The access that a path requires: routes of a project, and only those, name a project role. */
export type AccessTo<Path extends string> = Path extends `${string}/:project` | `${string}/:project/${string}`
  ? ProjectAccess
  : PlatformAccess;

/** The names of the parameters in a path. */
export type ParamsIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The access token of a request. */
export interface SessionToken {
  name: string;
  projectId: Id;
  project: string;
  /** The only environment that the token opens; null for all of the project. */
  environmentId: Id | null;
  environment: string | null;
  scopes: readonly TokenScope[];
  expiresAt: Date;
  /** The role of its user on the platform, and the current one in the project. */
  userRole: PlatformRole;
  projectRole: ProjectRole | null;
}

/** The signed-in user of a request, or the user for whom an access token acts. */
export interface Session {
  /** Of the session or the token. */
  sessionId: string;
  userId: string;
  email: string;
  /** Always `member` for an access token. */
  role: PlatformRole;
  /** Set for a request with an access token. */
  token?: SessionToken;
  /** Set after signing in with a one-time password: the user can only choose a new password. */
  passwordChangeRequired?: boolean;
  /** Whether the user changed something in the last seconds, so that their requests must not read from copies. */
  hasChanged?: boolean;
}

/** The caller's rights in the project of a request. */
export interface ProjectGrant {
  /** The project's id; undefined until its controller has set it. */
  projectId: Id | undefined;
  role: ProjectRole;
  /** Set for an access token of one environment: its name. */
  environment?: string;
}

/**
 * Returns the caller's rights in a project. @throws Problem `not_found` for a project that does not exist and, with the
 * same message, for a project in which the caller has no role or to which the access token does not belong; `forbidden` for
 * a role below the one that is needed, `scope_missing` for an access token
 */
export type AuthorizeProject = (session: Session, project: string, needed: ProjectAccess) => Promise<ProjectGrant>;

/**
 * Returns the session of a request. @throws Problem `unauthenticated`; `cross_site` for a cookie on a request that
 * another site started
 */
export type Authenticate = (request: {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}) => Promise<Session>;

/** The input of a handler: parsed and validated, independent of Koa. */
export interface RouteRequest<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  /** The exact bytes of the body, for signatures. */
  rawBody: Buffer;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Undefined on public routes and when a webhook token replaces the session. */
  session: Session | undefined;
  /** Set on routes of a project that were called with a session. */
  grant: ProjectGrant | undefined;
  /** The client's address as the ingress saw it: the last hop of X-Forwarded-For, else the peer. */
  clientAddress: string;
  requestId: string;
  log: Logger;
  /** Aborted when the client disconnects, or the response is not sent. */
  signal: AbortSignal;
}

export interface RouteReply {
  status: number;
  /** JSON, or text or a stream (`Readable`) with its content type in `headers`; absent for 204. */
  body?: unknown;
  headers?: Record<string, string | string[]>;
  /** Uses the WebSocket of a route that is one; with status 101. */
  useSocket?: (socket: WebSocket) => void;
  /** Further fields of the audit entry; false writes no entry, because nothing changed. */
  audit?: AuditFields | false | undefined;
}

/** Fields of an audit entry: those of the action, and `action` where it is another one than the route declares. */
export type AuditFields = Readonly<Record<string, unknown>> & { readonly action?: AuditAction };

/**
 * Waits, and then replies. A handler returns it for a wait that does not need the request's body, which is freed. Such a
 * route writes no audit entry.
 */
export type LateReply = () => Promise<RouteReply>;

/**
 * One operation of the management API. The schemas validate the request (400/422 with a stable code) and generate the
 * OpenAPI document. Paths are relative to `/api/v1` and use @koa/router's syntax, such as `/projects/:project/plans`.
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
  /**
   * The action's name in the audit log, such as `app.create`. When the handler succeeds, the host writes one entry with the
   * action, the method, the actor and the path's parameters (docs/reference/logs.md#audit).
   */
  audit?: AuditAction;
  /** The message of the log line of its audit entry; default `audit`. */
  auditMessage?: 'audit' | 'apikey audit';
  /** Default: each parameter of the path is a string of up to 100 characters. */
  params?: Params;
  query?: Query;
  /** Absent: the route takes no JSON body. An empty body counts as `{}`. */
  body?: Body;
  /** Describes a body that the handler itself parses (`parseJson`) after it has verified `rawBody`. */
  lateBody?: z.ZodType;
  /** Largest body in bytes; default 64 KiB. */
  bodyLimit?: number;
  /** Serves requests beyond the limits of requests in progress; only for handlers that hold nothing while they work. */
  unlimited?: true;
  /**
   * The route is a WebSocket with this subprotocol. The handler replies with status 101 and `useSocket`. Because a
   * browser sends cookies with WebSockets of other sites as well, a cookie is accepted only from the console's origin.
   */
  webSocket?: string;
  /** The response is a stream of JSON lines, each of the schema of its status. */
  jsonLines?: true;
  /** HTTP status → schema of the response body; null for none. */
  replies: Readonly<Record<number, z.ZodType | null>>;
  handle(request: RouteRequest<z.output<Params>, z.output<Query>, z.output<Body>>): Promise<RouteReply | LateReply>;
}

/** The default schema of a path's parameters. */
export function paramsOf(path: string): z.ZodObject<Record<string, z.ZodType<string>>> {
  const names = [...path.matchAll(/:([A-Za-z]+)/g)].map(([, name = '']) => name);
  return z.object(Object.fromEntries(names.map((name) => [name, z.string().max(100)])));
}

/** Declares a route. The types require a project role on routes of a project, and forbid it on others. */
export function route<
  const Path extends string,
  Params extends z.ZodType = z.ZodType<Record<ParamsIn<Path>, string>>,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
>(definition: Route<Params, Query, Body> & { path: Path; access: AccessTo<Path> }): Route {
  return { params: paramsOf(definition.path), ...definition };
}

/** The session of a request. @throws Error on a route whose access needs no session */
export function sessionOf({ session }: Pick<RouteRequest<unknown, unknown, unknown>, 'session'>): Session {
  if (!session) throw new Error('the route is not declared with an access that needs a session');
  return session;
}

/** Who acts, for logs and histories: the email address of a user, or `token <name>`. */
export function actorOf({ email, token }: Session): string {
  return token ? `token ${token.name}` : email;
}

/** The refusal of access tokens on a route that is for users only. */
export function usersOnly(): Problem {
  return new Problem('forbidden', 'Access tokens cannot do this. Sign in as a user: svc login.', {
    details: { needs: 'session' },
  });
}

/** The refusal of an access token without a scope. */
export function scopeMissing(needed: TokenScope, subject = 'This'): Problem {
  return new Problem(
    'scope_missing',
    `${subject} needs the scope "${needed}", which the access token does not have. Create a token with \`svc token create --scope ${needed}\`.`,
    { details: { needs: needed } },
  );
}

/**
 * Checks a scope beyond the one that the route declares; every user passes. @throws Problem `scope_missing`
 * @param subject what needs it, as the beginning of a sentence
 */
export function requireScope(
  { session }: Pick<RouteRequest<unknown, unknown, unknown>, 'session'>,
  needed: TokenScope,
  subject: string,
): void {
  if (session?.token && !includesScope(session.token.scopes, needed)) throw scopeMissing(needed, subject);
}

/** The id of a request's project. @throws Problem `not_ready` until the project's controller has set it */
export function projectIdOf({ grant }: Pick<RouteRequest<unknown, unknown, unknown>, 'grant'>): Id {
  if (!grant) throw new Error('the route is not declared with access to a project');
  if (grant.projectId !== undefined) return grant.projectId;
  throw new Problem('not_ready', 'The project is being set up. Try again in a moment.');
}
