import { text } from 'node:stream/consumers';
import type { WebSocket } from 'ws';
import type * as WebSockets from './web-socket.ts';
import { z } from 'zod';
import { page, problemBody } from '../runtime/contracts/api/common.ts';
import { accessTokenPrefix } from '../runtime/domain/access-token-prefix.ts';
import type { Clock } from '../runtime/domain/clock.ts';
import { connectionFault, type Connections } from './connection.ts';
import { exitCodes, Failure, usageFailure } from './failure.ts';

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

interface CallOptions {
  query?: Query | undefined;
  body?: unknown;
}

/** Calls the management API. Every call rejects with a Failure that contains the API's stable code. */
export interface ApiClient {
  /** Sends a request and parses the response; `path` is below `/api/v1`. */
  call<Schema extends z.ZodType>(
    method: Method,
    path: string,
    schema: Schema,
    options?: CallOptions,
  ): Promise<z.output<Schema>>;
  /** Sends a request and ignores the body of the response. */
  send(method: Method, path: string, options?: CallOptions): Promise<void>;
  /** All items of a list, page by page. */
  list<Item extends z.ZodType>(path: string, item: Item, query?: Query): Promise<z.output<Item>[]>;
  /**
   * Streams the lines of a response; with a body, of a POST. @throws Failure `unreachable` when the connection breaks, or
   * is silent for 45 s
   */
  lines(path: string, query?: Query, body?: object): AsyncIterable<string>;
  /** Opens a WebSocket, which is paused. @throws Failure */
  open(path: string, protocol: string, query?: Query): Promise<WebSocket>;
  /** Opens a WebSocket for much binary data. It is paused until its content is taken. @throws Failure */
  openData(path: string, protocol: string, query?: Query): Promise<WebSockets.DataSocket>;
  /** Posts to a path outside `/api/v1`, and parses a reply of any status that has the schema. */
  post<Schema extends z.ZodType>(path: string, schema: Schema, body: object): Promise<z.output<Schema>>;
  /** Requests a path outside `/api/v1`, and returns any status. */
  probe(path: string): Promise<{ status: number; body: unknown }>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface ClientOptions {
  /** As `normaliseAddress` returns it. */
  api: string;
  token: string | undefined;
  /** Whether the token is that of the variable `SVC_TOKEN`, so that signing in would change nothing. */
  isVariable?: boolean;
  connections: Connections;
  clock: Clock;
  userAgent: string;
}

/**
 * Pauses before the retries of a GET: after a connection that failed, and after an answer of an ingress without a backend,
 * which is how a platform answers whose API starts again. Other methods may have taken effect, so they are not repeated.
 */
const pausesMs = { connection: [200, 800], ingress: [200, 800, 2_000, 4_000] };
/** Streams send at least a keep-alive every 15 s. */
const silenceMs = 45_000;
/** Statuses that an ingress returns while the API behind it is being replaced. */
const retryable = new Set([502, 503, 504]);

/**
 * A name as one segment of a path. `new URL` folds dots: the path of the app ".." would be that of its project.
 * @throws Failure for a name that cannot be a segment
 */
export function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') {
    throw usageFailure(`"${name}" is not a name.`, 'show the names with the list command');
  }
  return encodeURIComponent(name);
}

export function createClient(settings: ClientOptions): ApiClient {
  const { api, token, connections, clock, userAgent } = settings;
  const identity = { 'user-agent': userAgent, ...(token !== undefined && { authorization: `Bearer ${token}` }) };

  const sendOnce = async (method: Method, path: string, { query, body }: CallOptions) => {
    const url = addressOf(`${api}${path}`, query);
    const response = await connections.send(url, {
      method,
      headers: {
        accept: 'application/json',
        ...identity,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const { statusCode: status = 0, headers } = response;
    return { status, content: await text(response), location: headers.location };
  };

  const attempt = async (method: Method, path: string, options: CallOptions) => {
    for (let tries = 0; ; tries++) {
      const pauseAfter = (kind: keyof typeof pausesMs) => (method === 'GET' ? pausesMs[kind][tries] : undefined);
      let pause: number | undefined;
      try {
        const response = await sendOnce(method, path, options);
        const temporary = retryable.has(response.status) && parseJson(response.content) === undefined;
        pause = pauseAfter('ingress');
        if (!temporary || pause === undefined) return response;
      } catch (error) {
        const fault = connectionFault(error);
        if (fault === undefined) throw error;
        pause = pauseAfter('connection');
        if (pause === undefined) throw unreachable(api, fault, error);
      }
      await clock.sleep(pause);
    }
  };

  const send = async (method: Method, path: string, options: CallOptions = {}): Promise<unknown> => {
    const { status, content, location } = await attempt(method, `/api/v1${path}`, options);
    if (status === 204) return undefined;
    const body = parseJson(content);
    if (status >= 200 && status < 300 && body !== undefined) return body;
    throw apiFailure(settings, status, body, location);
  };

  async function* lines(path: string, query: Query = {}, body?: object): AsyncGenerator<string> {
    const url = addressOf(`${api}/api/v1${path}`, query);
    const request =
      body === undefined
        ? { method: 'GET' as const, headers: identity }
        : {
            method: 'POST' as const,
            headers: { ...identity, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          };
    try {
      const response = await connections.send(url, request, silenceMs);
      const { statusCode: status = 0 } = response;
      if (status !== 200) throw apiFailure(settings, status, parseJson(await text(response)), undefined);
      let rest = '';
      const decoder = new TextDecoder();
      for await (const chunk of response as AsyncIterable<Uint8Array>) {
        const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = parts.pop() ?? '';
        yield* parts;
      }
    } catch (error) {
      const fault = connectionFault(error);
      if (fault === undefined) throw error;
      throw new Failure(`${api} is unreachable: ${fault}.`, { code: 'unreachable', cause: error });
    }
  }

  const call: ApiClient['call'] = async (method, path, schema, options) => {
    const parsed = schema.safeParse(await send(method, path, options));
    if (parsed.success) return parsed.data;
    throw new Failure(`${api} returned an unknown response to ${method} ${path}.`, {
      hint: 'use the version of svc that matches the platform (svc --version, svc status)',
      cause: parsed.error,
    });
  };

  const open = async <T>(start: (sockets: typeof WebSockets) => Promise<T>): Promise<T> => {
    // Loaded when needed: most commands open no WebSocket.
    const sockets = await import('./web-socket.ts');
    try {
      return await start(sockets);
    } catch (error) {
      if (error instanceof sockets.RefusedSocket)
        throw apiFailure(settings, error.status, parseJson(error.content), undefined);
      const fault = connectionFault(error);
      throw fault === undefined ? error : unreachable(api, fault, error);
    }
  };

  return {
    call,
    send: async (method, path, options) => {
      await send(method, path, options);
    },
    async list(path, item, query = {}) {
      const items: z.output<typeof item>[] = [];
      let cursor: string | undefined;
      do {
        const response = await call('GET', path, page(item), { query: { ...query, cursor } });
        items.push(...response.items);
        cursor = response.nextCursor;
      } while (cursor !== undefined);
      return items;
    },
    lines: (path, query, body) => lines(path, query, body),
    open: (path, protocol, query) =>
      open(({ openWebSocket }) => openWebSocket(addressOf(`${api}/api/v1${path}`, query), protocol, identity)),
    openData: (path, protocol, query) =>
      open(({ openDataSocket }) => openDataSocket(addressOf(`${api}/api/v1${path}`, query), protocol, identity)),
    async post(path, schema, body) {
      const { status, content, location } = await attempt('POST', path, { body });
      const reply = parseJson(content);
      const parsed = schema.safeParse(reply);
      if (parsed.success) return parsed.data;
      throw apiFailure({ api, token }, status, reply, location);
    },
    async probe(path) {
      const { status, content } = await attempt('GET', path, {});
      return { status, body: parseJson(content) };
    },
  };
}

function addressOf(address: string, query: Query = {}): URL {
  const url = new URL(address);
  for (const [name, value] of Object.entries(query)) {
    for (const one of typeof value === 'object' ? value : [value]) {
      if (one !== undefined) url.searchParams.append(name, String(one));
    }
  }
  return url;
}

function unreachable(api: string, fault: string, cause: unknown): Failure {
  return new Failure(`${api} is unreachable: ${fault}.`, {
    code: 'unreachable',
    hint: 'check the address (--api, SVC_API) and that the platform is running',
    cause,
  });
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

type Identity = Pick<ClientOptions, 'api' | 'token' | 'isVariable'>;

/** The failure for a response that is no success. */
function apiFailure(identity: Identity, status: number, body: unknown, location: string | undefined): Failure {
  const { api } = identity;
  const problem = problemBody.safeParse(body);
  if (problem.success) {
    const { code, message, details } = problem.data;
    const notSignedIn = code === 'unauthenticated';
    return new Failure(message, {
      code,
      hint: notSignedIn ? signInHint(identity) : hintOf(details),
      exitCode: notSignedIn ? exitCodes.notSignedIn : isWrongInput(status) ? exitCodes.usage : exitCodes.failed,
    });
  }
  if (location !== undefined) {
    return new Failure(`${api} redirects to ${location}.`, { hint: 'use the final address with --api' });
  }
  if (retryable.has(status)) {
    const hint = 'the management API may be starting; try again, or see svc status';
    return new Failure(`${api} is unavailable: its ingress answered ${status}.`, { code: `http_${status}`, hint });
  }
  return new Failure(`${api} is not a management API: it answered ${status}.`, {
    code: `http_${status}`,
    hint: status === 404 ? 'check the address (--api, SVC_API), or retry shortly after an installation' : undefined,
  });
}

/** Whether the API refused a value of the command line: the exit code is the same as when svc does (decision 0052). */
function isWrongInput(status: number): boolean {
  return status === 400 || status === 422;
}

/** A program has a token in `SVC_TOKEN`, and cannot sign in. */
function signInHint({ api, token, isVariable }: Identity): string {
  if (token?.startsWith(accessTokenPrefix)) return 'replace the value of SVC_TOKEN: svc token create';
  return isVariable
    ? `replace the value of SVC_TOKEN, or unset it and sign in: svc login --api ${api}`
    : `sign in: svc login --api ${api}`;
}

/** The other faults of a request, since the message contains only the first; or the request ID. */
function hintOf(details: Record<string, unknown> | undefined): string | undefined {
  const issues = z.array(z.object({ path: z.string(), message: z.string() })).safeParse(details?.['issues']);
  if (issues.success && issues.data.length > 1) {
    return `also ${issues.data
      .slice(1)
      .map(({ path, message }) => `${path}: ${message}`)
      .join('; ')}`;
  }
  const requestId = details?.['requestId'];
  return typeof requestId === 'string' ? `request ID: ${requestId}` : undefined;
}
