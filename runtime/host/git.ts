import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a git server may want: a token as the password over http, or a key over ssh. */
export type GitCredentials = { token: string; username?: string | undefined } | { deployKey: string };

/** Why git failed, in its own last words; nothing of the credentials is in them. */
export class GitError extends Error {
  override readonly name = 'GitError';
}

export interface GitOptions {
  /** A folder of its own, for the credentials and all that git would look for in a home. */
  folder: string;
  credentials?: GitCredentials | undefined;
  /** Addresses that hosts were resolved to and found good, as `host:port:address`, so that nothing else is asked. */
  resolved?: readonly string[];
  /** Of this process: where programs, proxies and certificates are. */
  env: Readonly<Record<string, string | undefined>>;
}

export interface GitRunOptions {
  cwd?: string;
  /** After so many ms git and all that it started are killed. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Told what git prints for people. */
  onOutput?: (text: string) => void;
}

/** Runs git. @throws GitError */
export type Git = (args: readonly string[], options: GitRunOptions) => Promise<string>;

/** Of what git prints, so much is kept. */
const outputMaxBytes = 256 * 1024;
const defaultUser = 'git';
/** Variables that are git's and curl's ways out, and nothing else of the environment. */
const passed = [
  ...['PATH', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['GIT_SSL_CAINFO', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
];

/**
 * Whatever a repository or its server may say, these hold: no protocol but https, http and ssh, no redirects (whoever is
 * asked was judged by its address), no submodules, no hooks, no configuration but this.
 */
const settings: readonly (readonly [string, string])[] = [
  ['protocol.allow', 'never'],
  ['protocol.http.allow', 'always'],
  ['protocol.https.allow', 'always'],
  ['protocol.ssh.allow', 'always'],
  ['http.followRedirects', 'false'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['credential.helper', ''],
  ['init.defaultBranch', 'main'],
  ['gc.auto', '0'],
  ['advice.detachedHead', 'false'],
];

/**
 * git as the platform runs it: by its arguments, never through a shell, without anything of this machine's configuration,
 * and without asking anybody. Credentials lie in files of `folder` that only this user reads: never in arguments, in the
 * environment or in an address.
 */
export function createGit({ folder, credentials, resolved = [], env }: GitOptions): Git {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pairs = [...settings, ...resolved.map((entry) => ['http.curloptResolve', entry] as const)];
  const variables: Record<string, string> = {
    ...Object.fromEntries(passed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
    ...{ HOME: folder, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' },
    GIT_ALLOW_PROTOCOL: 'http:https:ssh',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_COUNT: String(pairs.length),
    ...Object.fromEntries(pairs.flatMap(([key, value], at) => configuration(at, key, value))),
    GIT_ASKPASS: askpass(folder, credentials),
    GIT_SSH: sshProgram(folder, credentials),
    GIT_SSH_VARIANT: 'ssh',
  };
  return (args, options) => run(args, variables, options);
}

function configuration(at: number, key: string, value: string): [string, string][] {
  return [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ];
}

/** The program that git asks for a name and a password; without a token it has none to give. */
function askpass(folder: string, credentials: GitCredentials | undefined): string {
  const { token, username = defaultUser } = credentials && 'token' in credentials ? credentials : { token: '' };
  writeSecret(folder, 'username', username);
  writeSecret(folder, 'token', token);
  const [name, secret] = [join(folder, 'username'), join(folder, 'token')].map(quoted);
  return writeProgram(folder, 'askpass', `case "$1" in Username*) exec cat ${name} ;; *) exec cat ${secret} ;; esac\n`);
}

/** Hosts are believed at first sight and held to it for as long as the folder is kept. */
function sshProgram(folder: string, credentials: GitCredentials | undefined): string {
  const options = ['BatchMode=yes', 'StrictHostKeyChecking=accept-new', 'ConnectTimeout=15', 'IdentitiesOnly=yes'];
  const known = `UserKnownHostsFile=${join(folder, 'known_hosts')}`;
  const words = ['ssh', '-F', '/dev/null', ...[...options, known].flatMap((option) => ['-o', option])];
  if (credentials && 'deployKey' in credentials) {
    writeSecret(folder, 'deploy-key', `${credentials.deployKey.trimEnd()}\n`);
    words.push('-i', join(folder, 'deploy-key'));
  }
  return writeProgram(folder, 'ssh', `exec ${words.map(quoted).join(' ')} "$@"\n`);
}

function writeSecret(folder: string, name: string, content: string): void {
  writeFileSync(join(folder, name), content, { mode: 0o600 });
}

function writeProgram(folder: string, name: string, script: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}`, { mode: 0o700 });
  chmodSync(file, 0o700);
  return file;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { cwd, timeoutMs, signal, onOutput }: GitRunOptions,
): Promise<string> {
  // A group of its own: git leaves the transfer to other programs, which must not outlive it.
  const child = spawn('git', args, {
    ...(cwd !== undefined && { cwd }),
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let late = false;
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  };
  const timer = setTimeout(() => {
    late = true;
    kill();
  }, timeoutMs);
  signal?.addEventListener('abort', kill, { once: true });
  const stdout: Buffer[] = [];
  let [size, said] = [0, ''];
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= outputMaxBytes) stdout.push(chunk);
    else kill();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4096);
    onOutput?.(text);
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
      if (signal?.aborted) kill();
    });
    if (code === 0) return Buffer.concat(stdout).toString('utf8');
    if (late) throw new GitError(`git did not end within ${Math.round(timeoutMs / 1000)} s.`);
    if (size > outputMaxBytes) throw new GitError('git printed too much.');
    throw new GitError(lastWords(said) || `git ended with ${code ?? 'a signal'}.`);
  } catch (error) {
    if (error instanceof GitError) throw error;
    throw new GitError('git cannot be run; is it installed?', { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', kill);
  }
}

/** The lines that say what was wrong, in one; those of progress left out. */
function lastWords(said: string): string {
  const lines = said.split(/[\r\n]+/).map((line) => line.trim());
  const telling = lines.filter((line) => /^(?:fatal|error|remote|ssh|Host key|Permission)/i.test(line));
  return (telling.length > 0 ? telling : lines.filter(Boolean)).slice(-3).join(' ').slice(-500);
}

/** The commit at the tip of a branch; undefined when the repository has no such branch. @throws GitError */
export async function branchTip(
  git: Git,
  { url, branch }: { url: string; branch: string },
  options: GitRunOptions,
): Promise<string | undefined> {
  const name = `refs/heads/${branch}`;
  const listed = await git(['ls-remote', '--heads', '--', url, name], options);
  const line = listed.split('\n').find((one) => one.endsWith(`\t${name}`));
  const commit = line?.split('\t')[0];
  return commit !== undefined && /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined;
}
