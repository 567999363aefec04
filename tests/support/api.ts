import { Registry } from 'prom-client';
import type { Logger } from 'pino';
import { createHttpApp } from '../../runtime/http/app.ts';
import type { AuditedLimits } from '../../runtime/http/audited-limit.ts';
import type { BodyMemory } from '../../runtime/http/body-memory.ts';
import type { RequestLimits } from '../../runtime/http/request-places.ts';
import { responseHeaders } from '../../runtime/http/response-headers.ts';
import { createHttpServer } from '../../runtime/http/server.ts';
import type { Site } from '../../runtime/http/site.ts';
import { createWebSockets, type SocketLimits } from '../../runtime/http/web-sockets.ts';
import type { AddressMatcher } from '../../runtime/domain/address.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Authenticate, AuthorizeProject, Route, Session } from '../../runtime/http/route.ts';
import type { RecordAudit } from '../../runtime/records/audit-entries.ts';
import { silentLog } from './log.ts';

interface Teardown {
  teardown(end: () => unknown): void;
}

export const testSession: Session = {
  sessionId: '019a0000-0000-7000-8000-000000000001',
  userId: '019a0000-0000-7000-8000-000000000002',
  email: 'admin@svc.local',
  role: 'admin',
};

/** Accepts `Bearer good` only. */
const acceptGood: Authenticate = async ({ headers }) => {
  if (headers['authorization'] === 'Bearer good') return testSession;
  throw new Problem('unauthenticated', 'Log in.');
};

/** Every signed-in user is an admin of every project. */
const allowAll: AuthorizeProject = async () => ({ projectId: '019a0000-0000-7000-8000-000000000003', role: 'admin' });

/** An answer. `body` is the parsed JSON, or the text if it is not JSON. */
export interface Answer {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of every shape
  body: any;
  text: string;
}

export interface TestApi {
  url: string;
  /** Calls a path as the signed-in admin unless `headers` say otherwise; a string body is sent unchanged. */
  call(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<Answer>;
}

/** Serves routes on the loopback interface, and checks every answer against its declared schema. */
export async function testApi(
  t: Teardown,
  options: {
    routes: readonly Route[];
    rootRoutes?: readonly Route[];
    site?: Site;
    authenticate?: Authenticate;
    authorize?: AuthorizeProject;
    /** Default: audit entries are only logged. */
    recordAudit?: RecordAudit;
    trustedProxies?: AddressMatcher;
    checkReplies?: boolean;
    bodies?: BodyMemory;
    limits?: Partial<RequestLimits>;
    auditedLimits?: Partial<AuditedLimits>;
    socketLimits?: Partial<SocketLimits>;
    baseUrl?: string;
    log?: Logger;
    registry?: Registry;
  },
): Promise<TestApi> {
  const sockets = createWebSockets(options.socketLimits);
  const app = createHttpApp({
    authenticate: acceptGood,
    authorize: allowAll,
    recordAudit: () => Promise.resolve(),
    log: silentLog,
    registry: new Registry(),
    baseUrl: 'http://console.test',
    version: '0.0.0',
    checkReplies: true,
    sockets,
    ...options,
  });
  const server = createHttpServer({
    port: 0,
    host: '127.0.0.1',
    listener: app.callback(),
    sockets,
    headers: responseHeaders(options.baseUrl ?? 'http://console.test'),
    drainMs: 0,
  });
  const url = `http://127.0.0.1:${await server.start()}`;
  t.teardown(() => server.stop());
  return {
    url,
    async call(method, path, { body, headers = {} } = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: 'Bearer good',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        redirect: 'manual',
      });
      const text = await response.text();
      let parsed: unknown = text;
      try {
        parsed = JSON.parse(text);
      } catch {
        // Some answers are not JSON.
      }
      return { status: response.status, headers: response.headers, body: parsed, text };
    },
  };
}
