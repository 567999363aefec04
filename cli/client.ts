import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { page, problemBody } from '../runtime/contracts/api/common.ts';
import type { Clock } from '../runtime/domain/clock.ts';
import { connectionFault, type Connections } from './connection.ts';
import { exitCodes, Failure } from './failure.ts';

export type Query = Readonly<Record<string, string | number | undefined>>;

interface CallOptions {
  query?: Query | undefined;
  body?: unknown;
}

/** The management API as commands use it. Every call rejects with a Failure that carries the API's stable code. */
export interface ApiClient {
  /** A call whose answer is parsed; `path` is below `/api/v1`. */
  call<Schema extends z.ZodType>(
    method: Method,
    path: string,
    schema: Schema,
    options?: CallOptions,
  ): Promise<z.output<Schema>>;
  /** A call whose answer does not matter. */
  send(method: Method, path: string, options?: CallOptions): Promise<void>;
  /** All items of a list, page by page. */
  list<Item extends z.ZodType>(path: string, item: Item, query?: Query): Promise<z.output<Item>[]>;
  /** The lines of an answer as they come, until it ends. @throws Failure `unreachable` when it is cut, or silent for 45 s */
  lines(path: string, query?: Query): AsyncIterable<string>;
  /** What a path outside the prefix answers, whatever its status. */
  probe(path: string): Promise<{ status: number; body: unknown }>;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface ClientOptions {
  /** As `normaliseAddress` writes it. */
  api: string;
  token: string | undefined;
  connections: Connections;
  clock: Clock;
  userAgent: string;
}

/** Before each further attempt of a GET; the others may have taken effect, so they are not repeated. */
const pausesMs = [200, 800];
/** Streams have something to say every 15 s; one that has not for so long is dead. */
const silenceMs = 45_000;
/** What an ingress answers while the API behind it is being replaced. */
const passing = new Set([502, 503, 504]);

/** A path segment out of something typed. */
export function segment(typed: string): string {
  return encodeURIComponent(typed);
}

export function createClient({ api, token, connections, clock, userAgent }: ClientOptions): ApiClient {
  const identity = { 'user-agent': userAgent, ...(token !== undefined && { authorization: `Bearer ${token}` }) };

  const once = async (method: Method, path: string, { query, body }: CallOptions) => {
    const url = new URL(`${api}${path}`);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const answer = await connections.send(url, {
      method,
      headers: {
        ...{ accept: 'application/json', ...identity },
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const { statusCode: status = 0, headers } = answer;
    return { status, content: await text(answer), location: headers.location };
  };

  const attempt = async (method: Method, path: string, options: CallOptions) => {
    for (let tries = 0; ; tries++) {
      const pause = method === 'GET' ? pausesMs[tries] : undefined;
      try {
        const answer = await once(method, path, options);
        const temporary = passing.has(answer.status) && parseJson(answer.content) === undefined;
        if (!temporary || pause === undefined) return answer;
      } catch (error) {
        const fault = connectionFault(error);
        if (fault === undefined) throw error;
        if (pause === undefined) {
          throw new Failure(`${api} cannot be reached: ${fault}.`, {
            code: 'unreachable',
            hint: 'check the address (--api, SVC_API) and that the platform runs',
            cause: error,
          });
        }
      }
      await clock.sleep(pause);
    }
  };

  const send = async (method: Method, path: string, options: CallOptions = {}): Promise<unknown> => {
    const { status, content, location } = await attempt(method, `/api/v1${path}`, options);
    if (status === 204) return undefined;
    const body = parseJson(content);
    if (status >= 200 && status < 300 && body !== undefined) return body;
    throw refusal(api, status, body, location);
  };

  async function* lines(path: string, query: Query = {}): AsyncGenerator<string> {
    const url = new URL(`${api}/api/v1${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    try {
      const answer = await connections.send(url, { method: 'GET', headers: identity }, silenceMs);
      const { statusCode: status = 0 } = answer;
      if (status !== 200) throw refusal(api, status, parseJson(await text(answer)), undefined);
      let rest = '';
      const decoder = new TextDecoder();
      for await (const chunk of answer as AsyncIterable<Uint8Array>) {
        const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = parts.pop() ?? '';
        yield* parts;
      }
    } catch (error) {
      const fault = connectionFault(error);
      if (fault === undefined) throw error;
      throw new Failure(`${api} cannot be reached: ${fault}.`, { code: 'unreachable', cause: error });
    }
  }

  const call: ApiClient['call'] = async (method, path, schema, options) => {
    const parsed = schema.safeParse(await send(method, path, options));
    if (parsed.success) return parsed.data;
    throw new Failure(`${api} answers ${method} ${path} in a form that this version of svc does not know.`, {
      hint: 'use the svc of the platform’s version',
      cause: parsed.error,
    });
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
        const answer = await call('GET', path, page(item), { query: { ...query, cursor } });
        items.push(...answer.items);
        cursor = answer.nextCursor;
      } while (cursor !== undefined);
      return items;
    },
    lines: (path, query) => lines(path, query),
    async probe(path) {
      const { status, content } = await attempt('GET', path, {});
      return { status, body: parseJson(content) };
    },
  };
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

/** The failure that an answer other than success stands for. */
function refusal(api: string, status: number, body: unknown, location: string | undefined): Failure {
  const problem = problemBody.safeParse(body);
  if (problem.success) {
    const { code, message, details } = problem.data;
    const notSignedIn = code === 'unauthenticated';
    return new Failure(message, {
      code,
      hint: notSignedIn ? `sign in: svc login --api ${api}` : hintOf(details),
      exitCode: notSignedIn ? exitCodes.notSignedIn : exitCodes.failed,
    });
  }
  if (location !== undefined) {
    return new Failure(`${api} redirects to ${location}.`, { hint: 'give the address that answers itself with --api' });
  }
  return new Failure(`${api} answers ${status}, and not as a management API does.`, {
    code: `http_${status}`,
    hint:
      status === 404 ? 'check the address (--api, SVC_API); after an installation, try again in a moment' : undefined,
  });
}

/** Every further thing that is wrong with a request; the message names the first. */
function hintOf(details: Record<string, unknown> | undefined): string | undefined {
  const issues = z.array(z.object({ path: z.string(), message: z.string() })).safeParse(details?.['issues']);
  if (issues.success && issues.data.length > 1) {
    return `also ${issues.data
      .slice(1)
      .map(({ path, message }) => `${path}: ${message}`)
      .join('; ')}`;
  }
  const requestId = details?.['requestId'];
  return typeof requestId === 'string' ? `the request id is ${requestId}` : undefined;
}
