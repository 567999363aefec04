import { Readable } from 'node:stream';
import { Router, type RouterContext } from '@koa/router';
import Koa from 'koa';
import type { Logger } from 'pino';
import { Counter, Histogram, type Registry } from 'prom-client';
import { clientAddress, clientNetwork, type AddressMatcher } from '../domain/address.ts';
import { newId } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import type { RecordAudit } from '../records/audit-entries.ts';
import { watchAccess, type AccessChecks } from './access-watch.ts';
import { createAuditedLimit, type AuditedLimit, type AuditedLimits } from './audited-limit.ts';
import { createBodyMemory, type BodyMemory } from './body-memory.ts';
import { readBody } from './body.ts';
import { problemOf, problemTextOf } from './errors.ts';
import { openApiDocument } from './openapi.ts';
import { admitSession, perform } from './perform.ts';
import { limitToEnvironment } from './query.ts';
import { checkRefusal } from './refusals.ts';
import { createRequestLog } from './request-log.ts';
import { createRequestPlaces, type RequestLimits, type RequestPlaces } from './request-places.ts';
import { responseHeaders } from './response-headers.ts';
import {
  type Authenticate,
  type AuthorizeProject,
  type LateReply,
  type ProjectGrant,
  type Route,
  type RouteReply,
  type RouteRequest,
  type Session,
} from './route.ts';
import { answerAsSite, type Site } from './site.ts';
import { createWebSockets, type WebSockets } from './web-sockets.ts';

/** The prefix of every path of the management API (docs/reference/api.md#paths). */
const apiPrefix = '/api/v1';

export interface HttpAppOptions {
  /** Mounted below {@link apiPrefix} and described in the OpenAPI document. */
  routes: readonly Route[];
  /** Mounted at their own paths, such as `/health`, and described there. */
  rootRoutes?: readonly Route[];
  /** Answers requests for paths that no route has; default: they get 404. */
  site?: Site;
  authenticate: Authenticate;
  authorize: AuthorizeProject;
  /** Stores the audit entries of routes that declare an action. */
  recordAudit: RecordAudit;
  log: Logger;
  registry: Registry;
  /** Proxies in front of the ingress whose X-Forwarded-For is trusted; default none. */
  trustedProxies?: AddressMatcher;
  /** The public address of the management API, without a trailing slash. */
  baseUrl: string;
  /** The platform's version, for the OpenAPI document. */
  version: string;
  /** Shared with other servers of the process; default: its own. */
  bodies?: BodyMemory;
  /** Maximum numbers of requests in progress; see {@link createRequestPlaces}. */
  limits?: Partial<RequestLimits>;
  /** Maximum requests of a user that leave audit entries; see {@link createAuditedLimit}. */
  auditedLimits?: Partial<AuditedLimits>;
  /** The WebSockets of the server that calls the application; default: none can be opened. */
  sockets?: WebSockets;
  /** For tests: fails when a response does not match the route's declared replies and refusals. */
  checkReplies?: boolean;
}

interface State {
  requestId: string;
  /** The pattern of the matched route, for the log and the metrics: a path would create one series per object. */
  pattern: string;
  log: Logger;
}

type Context = Koa.ParameterizedContext<State>;

/** What the routes of one application share. */
interface Host extends HttpAppOptions {
  bodies: BodyMemory;
  places: RequestPlaces;
  audited: AuditedLimit;
  sockets: WebSockets;
}

/** How long a client may take to receive a response that is not a stream, in ms; its memory is in use until then. */
const receiveMs = 60_000;

/** The Koa application of console-api. It parses, authorizes, audits and renders; it opens no port. */
export function createHttpApp(options: HttpAppOptions): Koa<State> {
  const { routes, rootRoutes = [] } = options;
  const app = new Koa<State>();
  const { bodies = createBodyMemory(), limits, auditedLimits, sockets = createWebSockets() } = options;
  const places = createRequestPlaces({ bodies, limits });
  const host: Host = { ...options, bodies, sockets, places, audited: createAuditedLimit(auditedLimits) };
  // One copy for all requests: clients that do not read their responses cannot multiply it.
  const document = Buffer.from(JSON.stringify(openApiDocument({ ...options, prefix: apiPrefix })));

  /** By the first segment of their paths. A router tries the patterns of all its routes, which one for all would have. */
  const routers = new Map<string, Router<State>>();
  /** Handlers by method and path, which need no router. */
  const fixed = new Map<string, (context: Context) => Promise<void>>();

  const routerFor = (pattern: string) => {
    const router = routers.get(firstSegment(pattern)) ?? new Router<State>();
    routers.set(firstSegment(pattern), router);
    return router;
  };
  const mount = (route: Route, pattern: string) => {
    const router = routerFor(pattern);
    if (router.stack.some(({ path, methods }) => path === pattern && methods.includes(route.method))) {
      throw new Error(`${route.method} ${pattern} is declared twice`);
    }
    // The types check this too, but not for a path that is built at run time.
    if (/\/:project(\/|$)/.test(pattern) !== (typeof route.access === 'object')) {
      throw new Error(`${route.method} ${pattern} must declare the project role that it needs`);
    }
    if (route.audit !== undefined && (route.access === 'public' || route.access === 'webhook')) {
      throw new Error(`${route.method} ${pattern} needs no session, so nobody could be named in its audit entry`);
    }
    if (typeof route.access === 'object' && route.access.project === 'admin' && route.access.scope !== undefined) {
      throw new Error(`${route.method} ${pattern} needs an admin, so no access token may call it`);
    }
    const handler = async (context: Context) => {
      context.state.pattern = pattern;
      try {
        await serve(route, context, host);
      } catch (error) {
        if (options.checkReplies) checkRefusal(route, problemOf(error, context.state.requestId));
        throw error;
      }
    };
    const isFirst = router.match(pattern, route.method).pathAndMethod.length === 0;
    if (isFirst && !/[:*{(]/.test(pattern)) fixed.set(`${route.method} ${pattern}`, handler);
    router.register(pattern, [route.method], handler);
  };

  const documentPath = `${apiPrefix}/openapi.json`;
  routerFor(documentPath).get(documentPath, (context: Context) => {
    context.state.pattern = documentPath;
    context.type = 'application/json';
    context.body = document;
  });
  for (const route of routes) mount(route, `${apiPrefix}${route.path}`);
  for (const route of rootRoutes) mount(route, route.path);

  // `observe` renders all other errors.
  app.on('error', (error: unknown) => options.log.debug({ err: error }, 'connection failed'));
  app.use(observe(host));
  app.use((context: Context, next) => {
    const handler = fixed.get(`${context.method} ${context.path}`);
    if (!handler) return next();
    context['params'] = {};
    return handler(context);
  });
  app.use((context, next) => {
    const router = routers.get(firstSegment(context.path));
    return router ? router.routes()(context as RouterContext<State>, next) : next();
  });
  app.use((context) => {
    const matched = routers.get(firstSegment(context.path))?.match(context.path, context.method).path ?? [];
    const allowed = matched.flatMap(({ methods }) => methods);
    if (allowed.length === 0) {
      if (options.site && answerAsSite(options.site, context)) return;
      throw new Problem('not_found', 'No API operation has this path.');
    }
    context.set('Allow', [...new Set(allowed)].join(', '));
    throw new Problem('method_not_allowed', `This path does not support ${context.method}; see the Allow header.`);
  });
  return app;
}

/** The first segment of a path below the prefix, if it has that. Routers ignore the case of letters. */
function firstSegment(path: string): string {
  const lower = path.toLowerCase();
  const below = lower.startsWith(`${apiPrefix}/`) ? lower.slice(apiPrefix.length) : lower;
  return below.split('/', 2)[1] ?? '';
}

/** The outermost middleware: request id, log line, metrics, and the rendering of every error. */
function observe({ log, registry, baseUrl, bodies }: Host): Koa.Middleware<State> {
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Requests by route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from a request to its response, by route pattern.',
    labelNames: ['method', 'route'],
    registers: [registry],
  });
  const fixedHeaders = responseHeaders(baseUrl);
  const logRequest = createRequestLog(log);
  return async (context, next) => {
    const started = performance.now();
    const { state } = context;
    const requestId = context.get('X-Request-Id');
    state.requestId = /^[A-Za-z0-9._-]{1,128}$/.test(requestId) ? requestId : newId();
    state.pattern = 'unmatched';
    state.log = log.child({ requestId: state.requestId });
    context.set({ ...fixedHeaders, 'X-Request-Id': state.requestId });
    try {
      await next();
    } catch (error) {
      render(context, error);
    }
    const { req } = context;
    // node:http would read the whole of a body that the handler has not begun to read.
    if (!req.complete && req.readableFlowing === null) bodies.discards.discard(req);
    // The rest of the body is not read, so the connection cannot be reused.
    if (req.isPaused() && !context.headerSent) context.set('Connection', 'close');
    if (context.respond !== false && !(context.body instanceof Readable)) limitReceiving(context);
    const seconds = (performance.now() - started) / 1000;
    const { method, status } = context;
    // After the answer, which does not wait for it.
    setImmediate(() => {
      requests.inc({ method, route: state.pattern, status });
      duration.observe({ method, route: state.pattern }, seconds);
      logRequest({ method, route: state.pattern, status, ms: Math.round(seconds * 1000) }, state.log);
    });
  };
}

/** Closes the connection of a client that does not receive its response. */
function limitReceiving({ req, res }: Context): void {
  if (res.closed) return;
  const timer = setTimeout(() => req.socket.destroy(), receiveMs);
  res.once('close', () => clearTimeout(timer));
}

function render(context: Context, error: unknown): void {
  const { state } = context;
  const problem = problemOf(error, state.requestId);
  if (problem.status >= 500) state.log.error({ err: problem.cause ?? problem, code: problem.code }, 'request failed');
  else if (problem.cause !== undefined) state.log.debug({ err: problem.cause, code: problem.code }, 'request refused');
  if (problem.status === 401) context.set('WWW-Authenticate', 'Bearer');
  const retryAfter = problem.details?.['retryAfterSeconds'];
  if (typeof retryAfter === 'number') context.set('Retry-After', String(retryAfter));
  context.status = problem.status;
  context.set('Content-Type', 'application/json; charset=utf-8');
  context.body = problemTextOf(problem);
}

async function serve(route: Route, context: Context, host: Host): Promise<void> {
  const { trustedProxies = () => false, places, audited, bodies } = host;
  const { req, res } = context;
  const forwardedFor = context.get('X-Forwarded-For') || undefined;
  const address = clientAddress(forwardedFor, trustedProxies) ?? req.socket.remoteAddress ?? 'unknown';
  const client = clientNetwork(address);
  const place = route.unlimited ? undefined : places.enter(client);
  if (place) res.once('close', () => place.leave());
  const takesBody = route.body !== undefined || route.lateBody !== undefined;
  // Unread, it would fill the connection's buffers.
  if (!takesBody) bodies.discards.discard(req);
  const { session, grant } = await admit(route, context, host);
  const query = limitToEnvironment(route, context.query, grant);
  if (session) place?.signIn(session.userId);
  if (session && route.audit !== undefined) audited.take(session);
  const name = session?.userId ?? client;
  if (route.webSocket !== undefined) {
    await serveSocket(route, route.webSocket, context, host, { session, grant, clientAddress: address, query });
    place?.leave();
    return;
  }
  const body = bodies.place({ name, isKnown: session !== undefined });
  const access = new AbortController();
  let stopWatch = () => {};
  try {
    const rawBody = takesBody ? await readBody(req, body, route.bodyLimit) : Buffer.alloc(0);
    if (session) stopWatch = watchAccess(accessChecks(route, context, host, grant), (end) => access.abort(end));
    const caller = { session, grant, clientAddress: address, rawBody, query };
    const reply = await handle(route, context, host, caller, access.signal);
    if (typeof reply === 'function') body.free();
    send(context, typeof reply === 'function' ? await reply() : reply);
  } finally {
    body.free();
    if (!(context.body instanceof Readable)) stopWatch();
    else if (access.signal.aborted) res.destroy();
    else access.signal.addEventListener('abort', () => res.destroy(), { once: true });
  }
}

/** Whether the caller of a request in progress may still call its route, of the same project. */
function accessChecks(route: Route, context: Context, host: Host, grant: ProjectGrant | undefined): AccessChecks {
  return {
    isClosed: () => context.res.closed,
    authenticate: () => authenticateCaller(route, context, host),
    async authorize() {
      const current = await admit(route, context, host);
      if (current.grant?.projectId !== grant?.projectId) throw new Problem('not_found', 'The project was deleted.');
    },
  };
}

/** Serves a request for a WebSocket, which does not count as a request in progress once it is open. */
async function serveSocket(
  route: Route,
  protocol: string,
  context: Context,
  host: Host,
  caller: Pick<RouteRequest<unknown, object, unknown>, 'session' | 'grant' | 'clientAddress' | 'query'>,
): Promise<void> {
  const { req, res } = context;
  const { sockets } = host;
  sockets.check(req, protocol);
  const leave = sockets.enter(caller.session?.userId ?? caller.clientAddress);
  // Also when the handshake fails, which closes the connection.
  sockets.connectionOf(req)?.once('close', leave);
  try {
    const reply = await handle(route, context, host, { ...caller, rawBody: Buffer.alloc(0) });
    const { useSocket } = typeof reply === 'function' ? await reply() : reply;
    if (!useSocket) throw new Error(`${route.path} returned no use of its WebSocket`);
    context.status = 101;
    context.respond = false;
    const socket = sockets.accept(req, res, accessChecks(route, context, host, caller.grant));
    if (socket) useSocket(socket);
  } catch (error) {
    leave();
    throw error;
  }
}

/** Performs a request until its client disconnects, or its caller's access ends. */
async function handle(
  route: Route,
  context: Context,
  { checkReplies, sockets, recordAudit }: Host,
  caller: Pick<RouteRequest<unknown, object, unknown>, 'session' | 'grant' | 'clientAddress' | 'rawBody' | 'query'>,
  access?: AbortSignal,
): Promise<RouteReply | LateReply> {
  const { state, req, res } = context;
  const disconnected = new AbortController();
  const end = () => {
    if (!res.writableFinished) disconnected.abort(new Error('the client disconnected'));
  };
  if (res.closed) end();
  else (sockets.connectionOf(req) ?? res).once('close', end);
  const request = {
    ...caller,
    params: { ...(context['params'] as Record<string, string>) },
    query: { ...caller.query },
    headers: req.headers,
    requestId: state.requestId,
    log: state.log,
    signal: access ? AbortSignal.any([disconnected.signal, access]) : disconnected.signal,
  };
  try {
    return await perform(route, request, { checkReplies, recordAudit });
  } catch (error) {
    // Closes what the handler has opened for a response that is not sent.
    disconnected.abort(error);
    throw error;
  }
}

function send(context: Context, reply: RouteReply): void {
  context.status = reply.status;
  if (reply.headers) context.set(reply.headers);
  context.body = reply.body ?? null;
  // Koa sets 204 for a missing body.
  context.status = reply.status;
}

/** Decides who may call a route, before its body is read. */
async function admit(
  route: Route,
  context: Context,
  host: HttpAppOptions,
): Promise<{ session?: Session; grant?: ProjectGrant }> {
  const { access } = route;
  if (access === 'public' || access === 'webhook') return {};
  if (typeof access === 'object' && access.orWebhook && context.req.headers['x-svc-token'] !== undefined) return {};
  const session = await authenticateCaller(route, context, host);
  return admitSession(access, session, context['params'] as Record<string, string>, host.authorize);
}

function authenticateCaller(
  { access, method, webSocket }: Route,
  { req: { headers } }: Context,
  { authenticate }: HttpAppOptions,
): Promise<Session> {
  return authenticate({
    // A WebSocket begins with a GET, but what it carries can change something.
    method: webSocket === undefined ? method : 'POST',
    headers: access === 'bearer' ? { ...headers, cookie: undefined } : headers,
  });
}
