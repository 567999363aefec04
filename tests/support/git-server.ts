import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

interface Teardown {
  teardown(end: () => unknown): void;
}

/** A repository on this machine. */
export interface GitRepository {
  /** The folder with all repositories of the test; removed with it. */
  root: string;
  /** The bare repository. */
  bare: string;
  /** Commits files to a branch and pushes it. @returns the commit */
  push: (files: Record<string, string>, options?: { branch?: string; message?: string }) => string;
  /** Resets the branch `main` to a commit. */
  reset: (commit: string) => void;
}

/** A repository that can be pushed to on this machine and fetched over HTTP, through git's own server program. */
export interface GitServer extends Pick<GitRepository, 'push' | 'reset'> {
  /** The repository's URL for a client at this address of the machine. */
  url(host?: string): string;
  /** Every request so far: method, path with query, and the Authorization header. */
  requests: { method: string; path: string; authorization: string | undefined }[];
  /** Answers every request with this instead. */
  answer: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
}

/** Runs git for a test, without the machine's configuration. */
function git(cwd: string, ...args: string[]): string {
  const identity = { GIT_AUTHOR_NAME: 'Kim', GIT_AUTHOR_EMAIL: 'kim@example.com' };
  const committer = { GIT_COMMITTER_NAME: 'Kim', GIT_COMMITTER_EMAIL: 'kim@example.com' };
  const env = { PATH: process.env['PATH'], HOME: cwd, GIT_CONFIG_NOSYSTEM: '1', ...identity, ...committer };
  const ended = spawnSync('git', args, { cwd, env, encoding: 'utf8' });
  if (ended.status !== 0) throw new Error(`git ${args.join(' ')}: ${ended.stderr}`);
  return ended.stdout.trim();
}

/** Creates an empty repository, removed at the end of the test. */
export function gitRepository(t: Teardown): GitRepository {
  const root = mkdtempSync(join(tmpdir(), 'svc-git-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const [bare, work] = [join(root, 'shop/api.git'), join(root, 'work')];
  for (const folder of [bare, work]) mkdirSync(folder, { recursive: true });
  git(bare, 'init', '--quiet', '--bare', '--initial-branch=main');
  git(work, 'init', '--quiet', '--initial-branch=main');
  return {
    root,
    bare,
    push(files, { branch = 'main', message = 'A change' } = {}) {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(work, name)), { recursive: true });
        writeFileSync(join(work, name), content);
      }
      git(work, 'add', '--all');
      git(work, 'commit', '--quiet', '--allow-empty', '-m', message);
      git(work, 'push', '--quiet', '--force', bare, `HEAD:refs/heads/${branch}`);
      return git(work, 'rev-parse', 'HEAD');
    },
    reset: (commit) => void git(work, 'push', '--quiet', '--force', bare, `${commit}:refs/heads/main`),
  };
}

/**
 * Starts a server with one empty repository, stopped at the end of the test.
 * @param options.token the required password; default none
 * @param options.tls the key and certificate of a server over TLS; default none
 * @param options.host the address to listen at; default 127.0.0.1
 */
export async function gitServer(
  t: Teardown,
  options: { token?: string; host?: string; tls?: { key: string; certificate: string } } = {},
): Promise<GitServer> {
  const { root, push, reset } = gitRepository(t);
  const { host = '127.0.0.1', token, tls } = options;
  const server: GitServer = {
    url: (at = host) => `${tls ? 'https' : 'http'}://${at}:${(listener.address() as AddressInfo).port}/shop/api.git`,
    push,
    reset,
    requests: [],
    answer: undefined,
  };
  const serve: RequestListener = (request, response) => {
    const { authorization } = request.headers;
    server.requests.push({ method: request.method ?? '', path: request.url ?? '', authorization });
    if (server.answer?.(request, response)) return;
    const password = Buffer.from(authorization?.slice('Basic '.length) ?? '', 'base64')
      .toString()
      .split(':')[1];
    if (token !== undefined && password !== token) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    backend(root, request, response);
  };
  const listener = tls ? createTlsServer({ key: tls.key, cert: tls.certificate }, serve) : createServer(serve);
  listener.listen(0, host);
  await once(listener, 'listening');
  t.teardown(async () => {
    listener.closeAllConnections();
    listener.close();
    await once(listener, 'close');
  });
  return server;
}

/** https://git-scm.com/docs/git-http-backend, as a CGI program (RFC 3875). */
function backend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '', 'http://git.test');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method ?? '',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  let head: Buffer | undefined = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    if (!head) {
      response.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    for (const line of head.subarray(0, end).toString().split('\r\n')) {
      const colon = line.indexOf(':');
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
      if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    head = undefined;
  });
  child.once('close', () => response.end());
}
