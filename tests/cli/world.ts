import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { PassThrough, Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { rootGroup } from '../../cli/commands/root.ts';
import type { LocalPlatform } from '../../cli/context.ts';
import type { Host } from '../../cli/host-volumes.ts';
import { runProgram } from '../../cli/program.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { undeclaredParameters } from './declared-parameters.ts';

/** One request as the fake API received it. */
export interface Seen {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** A route's answer: a status and a JSON body; a string body is sent as text. */
export interface Reply {
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export type Routes = Record<string, Reply | ((request: Seen) => Reply) | undefined>;

export interface World {
  /** The fake API's address. */
  api: string;
  /** Every request so far. */
  seen: Seen[];
  /** `'GET /api/v1/projects'` → answer; a missing route answers 404 `not_found`. */
  routes: Routes;
  /** Runs one command line. */
  run: (args: string[], options?: RunOptions) => Promise<Ran>;
  /** The configuration's file. */
  configuration: string;
  /** The clock of the command lines. */
  clock: Clock;
}

interface RunOptions {
  env?: Record<string, string>;
  /** The content of standard input. */
  stdin?: string;
  /** What a person types, one entry for each prompt. */
  typed?: string[];
  /** Whether standard output and error are a terminal. */
  terminal?: boolean;
  /** Ctrl-C is pressed once this text appears on standard error. */
  interruptAt?: string;
  /** Ctrl-C is pressed once this text appears on standard output. */
  interruptAtOutput?: string;
  /** Default: a clock whose sleeps return at once. */
  clock?: Clock;
  /** The contents of the folder of the platform on this machine. */
  local?: LocalPlatform;
  /** This machine. */
  host?: Host;
}

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

interface Test {
  teardown(end: () => unknown): void;
  same(actual: unknown, expected: unknown, message: string): unknown;
}

export const now = new Date('2026-11-21T12:00:00Z');

/** A clock that moves only with sleeps, which return at once. */
function quickClock(): Clock {
  let elapsed = 0;
  return {
    now: () => new Date(now.getTime() + elapsed),
    monotonic: () => elapsed,
    sleep: async (ms) => {
      elapsed += ms;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

function sink(listen?: (text: string) => void): { stream: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(Buffer.from(chunk));
      listen?.(Buffer.concat(chunks).toString());
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

/** A management API with a test's answers, and the command line signed in to it. */
export async function world(t: Test, routes: Routes = {}): Promise<World> {
  const seen: Seen[] = [];
  const clock = quickClock();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const answer = (body: unknown) => {
      const { method = '', headers } = request;
      const call: Seen = { method, path: url.pathname, query: Object.fromEntries(url.searchParams), headers, body };
      seen.push(call);
      const undeclared = undeclaredParameters(method, url);
      if (undeclared.length > 0) t.same(undeclared, [], `the API refuses them: ${method} ${url.pathname}`);
      const route = routes[`${method} ${url.pathname}`];
      const reply = (typeof route === 'function' ? route(call) : route) ?? {
        status: 404,
        body: { code: 'not_found', message: `There is no ${url.pathname}.` },
      };
      const isText = typeof reply.body === 'string';
      const type = { 'content-type': isText ? 'text/plain' : 'application/json' };
      response.writeHead(reply.status ?? 200, { ...type, ...reply.headers });
      response.end(isText || reply.body === undefined ? reply.body : JSON.stringify(reply.body));
    };
    text(request).then(
      (content) => answer(content === '' ? undefined : JSON.parse(content)),
      (error: Error) => response.destroy(error),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const api = `http://console.apps.localhost:${address.port}`;
  const home = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  return {
    api,
    seen,
    routes,
    clock,
    configuration: join(home, 'svc', 'config.json'),
    async run(
      args,
      {
        env = {},
        stdin = '',
        typed,
        terminal = false,
        interruptAt,
        interruptAtOutput,
        local,
        host,
        ...own
      }: RunOptions = {},
    ) {
      const stdout = sink((printed) => {
        if (interruptAtOutput !== undefined && printed.includes(interruptAtOutput)) interrupt?.();
      });
      const keyboard = Object.assign(new PassThrough(), { isTTY: true });
      const answers = [...(typed ?? [])];
      let interrupt: (() => void) | undefined;
      const stderr = sink((chunk) => {
        if (interruptAt !== undefined && chunk.includes(interruptAt)) interrupt?.();
        const answer = chunk.endsWith(': ') ? answers.shift() : undefined;
        if (answer !== undefined) setImmediate(() => keyboard.write(answer));
      });
      const code = await runProgram(rootGroup, args, {
        env: { XDG_CONFIG_HOME: home, SVC_API: api, SVC_TOKEN: 'svcs_token', SVC_PROJECT: 'shop', ...env },
        stdin: typed ? keyboard : Readable.from([stdin]),
        stdout: Object.assign(stdout.stream, { isTTY: terminal }),
        stderr: Object.assign(stderr.stream, { isTTY: terminal }),
        onInterrupt: (listener) => {
          interrupt = listener;
          return () => (interrupt = undefined);
        },
        clock: own.clock ?? clock,
        local: () => local,
        ...(host && { host: () => host }),
        version: '1.2.3',
      });
      return { code, stdout: stdout.text(), stderr: stderr.text() };
    },
  };
}

/** Answers one after the other; the last one is repeated. */
export function sequence(...replies: Reply[]): () => Reply {
  let index = 0;
  return () => replies[Math.min(index++, replies.length - 1)] ?? {};
}

export const id = '019a0000-0000-7000-8000-000000000001';
export const createdAt = '2026-11-21T11:00:00Z';

export const app = {
  id,
  name: 'api',
  project: 'shop',
  environment: 'prod',
  image: 'r.example.com/api:1',
  port: 8080,
  replicas: 1,
  readyReplicas: 1,
  status: 'running',
  url: 'https://api--shop-prod.apps.example.com',
  volumes: [],
  autoRollback: true,
  extraHosts: [],
  security: { headers: true, csp: null },
  env: {},
  gate: 'off',
  createdAt,
};

export const deployment = {
  id,
  app: 'api',
  revision: 2,
  image: 'r.example.com/api:2',
  commit: '0123456',
  trigger: 'manual',
  status: 'succeeded',
  current: true,
  acceptedAt: createdAt,
};

export const accepted = { id, revision: 2, status: 'accepted', statusUrl: 'http://x/y' };
