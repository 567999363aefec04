import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { readRunInfo, svcHome, type RunInfo } from '../../infra/demo/bring-up.ts';
import { paths } from '../../infra/testcluster/cluster.ts';

const root = join(import.meta.dirname, '../..');

/** How a program ended and what it said. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** An HTTP answer, read to its end. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  json(): Record<string, unknown>;
}

export interface RequestOptions {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string;
}

/** The platform that `npm test` (or a person, with `npm start`) brought up, used as its users do. */
export interface Platform {
  info: RunInfo;
  /** Runs the command line, signed in as the admin; `input` goes to its standard input. */
  svc(args: string[], input?: string): Promise<Ended>;
  /** As {@link svc}, and fails the caller unless it succeeds; the answer is what it printed, trimmed. */
  ok(args: string[], input?: string): Promise<string>;
  /** As {@link ok} with `-o json`. */
  json<T>(args: string[]): Promise<T>;
  kubectl(...args: string[]): Promise<Ended>;
  /** A request through the ingress to a public URL (its host is sent, its address is loopback). */
  request(url: string, options?: RequestOptions): Promise<Answer>;
  /** Every body of an answer with a status of 400 and more, for the search for secrets. */
  errorBodies: string[];
}

/** A look at the cluster takes moments; one that hangs is ended, and asked again by whoever waits for its answer. */
const kubectlLimitMs = 30_000;

/** Runs a program to its end; past `limitMs` (default none) it is killed, which counts as a failure. */
export function run(
  command: string,
  args: string[],
  { env = {}, input, limitMs }: { env?: NodeJS.ProcessEnv; input?: string | undefined; limitMs?: number } = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      ...(limitMs !== undefined && { timeout: limitMs, killSignal: 'SIGKILL' as const }),
    });
    const output = Promise.all([text(child.stdout), text(child.stderr)]);
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', (code) => {
      output.then(([stdout, stderr]) => resolve({ code: code ?? 1, stdout, stderr }), reject);
    });
  });
}

/** A name that no other test uses. */
export function uniqueName(prefix: string): string {
  return `${prefix}${randomBytes(3).toString('hex')}`;
}

/** The running platform, with the command line signed in. @throws Error when nothing was brought up */
export async function runningPlatform(): Promise<Platform> {
  const info = readRunInfo();
  const config = join(svcHome(), `cli-${process.pid}`);
  mkdirSync(config, { recursive: true });
  const env = { XDG_CONFIG_HOME: config, SVC_API: info.api, NO_COLOR: '1' };
  const errorBodies: string[] = [];
  const svc = (args: string[], input?: string) => run(process.execPath, ['cli/main.ts', ...args], { env, input });
  const ok = async (args: string[], input?: string) => {
    const ended = await svc(args, input);
    if (ended.code !== 0) throw new Error(`svc ${args.join(' ')} ended with ${ended.code}: ${ended.stderr}`);
    return ended.stdout.trim();
  };
  await ok(
    ['login', '--api', info.api, '--email', info.adminEmail, '--password-stdin'],
    readFileSync(info.adminPasswordFile, 'utf8'),
  );
  return {
    info,
    svc,
    ok,
    errorBodies,
    json: async <T>(args: string[]) => JSON.parse(await ok([...args, '-o', 'json'])) as T,
    kubectl: (...args) =>
      run(join(paths().binDir, 'kubectl'), ['--kubeconfig', info.kubeconfig, ...args], { limitMs: kubectlLimitMs }),
    request: async (url, options = {}) => {
      const answer = await send(info.ingress, url, options);
      if (answer.status >= 400) errorBodies.push(answer.body);
      return answer;
    },
  };
}

function send(ingress: string, url: string, options: RequestOptions): Promise<Answer> {
  const target = new URL(url);
  const address = new URL(ingress);
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: address.hostname,
      port: address.port,
      path: target.pathname + target.search,
      method: options.method ?? 'GET',
      headers: { host: target.host, ...options.headers },
      agent: false,
    });
    request.once('error', reject);
    request.once('response', (response) => {
      text(response).then(
        (body) =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body,
            json: () => JSON.parse(body) as Record<string, unknown>,
          }),
        reject,
      );
    });
    request.end(options.body);
  });
}

/**
 * Asks again until the answer holds what is waited for; every look is a real request and the caller's time-out is tap's.
 * For state that spreads (routes, views) and reports no event to a client.
 */
export async function eventually<T>(look: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await look();
    if (holds(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A project with the environment `prod` for one test file, deleted when the test ends. */
export async function testProject(
  t: { teardown(end: () => unknown): void },
  platform: Platform,
): Promise<{ project: string; namespace: string; flags: string[] }> {
  const project = uniqueName('e2e');
  await platform.ok(['project', 'create', project, '--environment', 'prod']);
  t.teardown(() => platform.ok(['project', 'delete', project, '--yes']));
  return { project, namespace: `${project}-prod`, flags: ['--project', project, '--environment', 'prod'] };
}
