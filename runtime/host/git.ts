import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GitError, gitFailure } from './git-failure.ts';

/** What a git server may want: a token as the password over http, or a key over ssh. */
export type GitCredentials = { token: string; username?: string | undefined } | { deployKey: string };

export interface GitOptions {
  /** A folder of its own, for the credentials and all that git would look for in a home. */
  folder: string;
  credentials?: GitCredentials | undefined;
  /** Addresses that hosts were resolved to and found good, as `host:port:address`, so that nothing else is asked. */
  resolved?: readonly string[];
  /** Over ssh: the address that is asked, in place of what the host's name leads to. */
  sshAddress?: string | undefined;
  /**
   * Over ssh: the keys, as `<type> <base64>`, of which the server must prove one. Without them the first one that it shows
   * is believed, and {@link seenHostKeys} tells which that was.
   */
  hostKeys?: readonly string[] | undefined;
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
export function createGit(options: GitOptions): Git {
  const { folder, credentials, resolved = [], env } = options;
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
    GIT_SSH: sshProgram(options),
    GIT_SSH_VARIANT: 'ssh',
  };
  const given = credentials && ('token' in credentials ? 'token' : 'deployKey');
  return async (args, runOptions) => {
    const { code, said, output } = await run(args, variables, runOptions);
    if (code !== 0) throw gitFailure(said, given, code);
    return output;
  };
}

/** The name under which the server's keys are kept: whatever its name, port and address are. */
const hostKeyAlias = 'git-server';
const knownHostsFile = (folder: string) => join(folder, 'known_hosts');

/** The host keys that were believed at first sight by a git of this folder, as `<type> <base64>`. */
export function seenHostKeys(folder: string): string[] {
  const file = knownHostsFile(folder);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [name, type = '', encoded = ''] = line.split(' ');
    return name === hostKeyAlias ? [`${type} ${encoded}`] : [];
  });
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

function sshProgram({ folder, credentials, hostKeys, sshAddress }: GitOptions): string {
  const known = (hostKeys ?? []).map((key) => `${hostKeyAlias} ${key}\n`).join('');
  if (hostKeys) writeFileSync(knownHostsFile(folder), known);
  const options = [
    ...['BatchMode=yes', 'ConnectTimeout=15', 'IdentitiesOnly=yes', 'IdentityAgent=none', 'UpdateHostKeys=no'],
    ...[`StrictHostKeyChecking=${hostKeys ? 'yes' : 'accept-new'}`, `HostKeyAlias=${hostKeyAlias}`],
    ...[`UserKnownHostsFile="${sshPath(knownHostsFile(folder))}"`, 'GlobalKnownHostsFile=/dev/null'],
    ...(sshAddress === undefined ? [] : [`HostName=${sshAddress}`]),
  ];
  const words = ['ssh', '-F', '/dev/null', ...options.flatMap((option) => ['-o', option])];
  if (credentials && 'deployKey' in credentials) {
    writeSecret(folder, 'deploy-key', `${credentials.deployKey.trimEnd()}\n`);
    words.push('-i', sshPath(join(folder, 'deploy-key')));
  } else words.push('-o', 'IdentityFile=none');
  return writeProgram(folder, 'ssh', `exec ${words.map(quoted).join(' ')} "$@"\n`);
}

/** ssh replaces what follows a percent sign. */
function sshPath(path: string): string {
  return path.replaceAll('%', '%%');
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
): Promise<{ code: number | null; said: string; output: string }> {
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
    if (code === 0) return { code, said, output: Buffer.concat(stdout).toString('utf8') };
    if (late) throw new GitError(`git did not end within ${Math.round(timeoutMs / 1000)} s.`);
    if (size > outputMaxBytes) throw new GitError('git printed too much.');
    return { code, said, output: '' };
  } catch (error) {
    if (error instanceof GitError) throw error;
    throw new GitError('git cannot be run; is it installed?', 'unreachable', { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', kill);
  }
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
