import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { trustBundle } from '../domain/certificates.ts';
import { GitError, gitFailure } from './failure.ts';

/** A token, which is the password over HTTP, or a private key for SSH. */
export type GitCredentials = { token: string; username?: string | undefined } | { deployKey: string };

export interface GitOptions {
  /** Used by this git only: for the credentials, and as the home directory. */
  folder: string;
  credentials?: GitCredentials | undefined;
  /** The checked addresses of hosts as `host:port:address`, so that git connects to no others. */
  resolved?: readonly string[];
  /** Over SSH: the address to connect to instead of resolving the host name. */
  sshAddress?: string | undefined;
  /**
   * Over SSH: the accepted host keys, as `<type> <base64>`. Without them the first key that the server presents is
   * accepted; {@link seenHostKeys} returns it.
   */
  hostKeys?: readonly string[] | undefined;
  /** CAs that are trusted besides the public ones, in PEM. */
  caCertificates?: string | undefined;
  /** The environment of this process, with the settings of programs, proxies and certificates. */
  env: Readonly<Record<string, string | undefined>>;
  /**
   * The memory that git and each program it starts may use, in MiB: git keeps all references that a server lists, and a
   * server may list them without end. They then also run at the lowest priority. Default: no limit, for a process that
   * does nothing else.
   */
  memoryMaxMib?: number;
}

export interface GitRunOptions {
  cwd?: string;
  /** Time-out in ms, after which git and its child processes are killed. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Called with the text of git's standard error. */
  onOutput?: (text: string) => void;
}

/** Runs git. @returns its standard output @throws GitError */
export type Git = (args: readonly string[], options: GitRunOptions) => Promise<string>;

/** Maximum size of git's standard output. */
const outputMaxBytes = 256 * 1024;
const defaultUser = 'git';
/** The environment variables that git and curl get. */
const passedVariables = [
  'PATH',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'GIT_SSL_CAINFO',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];

/**
 * Settings that no repository or server can override: no protocols but HTTPS, HTTP and SSH, no redirects (only the address
 * of the configured host was checked), no submodules, no hooks, no other configuration.
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
 * Prepares a git that runs without a shell, without this machine's configuration and without prompts. Credentials are
 * stored in files of `folder` that only this user can read, never in arguments, the environment or a URL.
 */
export function createGit(options: GitOptions): Git {
  const { folder, credentials, resolved = [], env, caCertificates, memoryMaxMib } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const bundle = join(folder, 'ca.pem');
  if (caCertificates !== undefined) writeFileSync(bundle, trustBundle(caCertificates));
  const pairs = [...settings, ...resolved.map((entry) => ['http.curloptResolve', entry] as const)];
  const variables: Record<string, string> = {
    ...Object.fromEntries(passedVariables.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
    ...(caCertificates !== undefined && { GIT_SSL_CAINFO: bundle }),
    HOME: folder,
    LANG: 'C.UTF-8',
    LC_ALL: 'C.UTF-8',
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
  const kind = credentials && ('token' in credentials ? 'token' : 'deployKey');
  const program = memoryMaxMib === undefined ? 'git' : limitedProgram(folder, memoryMaxMib);
  return async (args, runOptions) => {
    const { code, errors, output } = await run(program, args, variables, runOptions);
    if (code !== 0) throw gitFailure(errors, kind, code);
    return output;
  };
}

/** The name of the server in the known_hosts file, independent of its host, port and address. */
const hostKeyAlias = 'git-server';
const knownHostsFile = (folder: string) => join(folder, 'known_hosts');

/** The host keys that a git with this folder accepted on first use, as `<type> <base64>`. */
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

/**
 * Gives a tenth of the weight of other programs, or less where this process has a niceness and no session of its own. With
 * 19, which gives a seventieth, a poll over ssh took longer than its time limit on a busy machine, however quickly the
 * server answered.
 */
const niceness = 10;

/**
 * A git whose processes have this limit of memory each, are the first to be ended where memory runs out, and stand back
 * for other programs. Where the kernel shares processors among sessions, git's own session gets that priority, too.
 */
function limitedProgram(folder: string, memoryMaxMib: number): string {
  const lines = [
    'echo 1000 2>/dev/null >/proc/self/oom_score_adj',
    `echo ${niceness} 2>/dev/null >/proc/self/autogroup`,
    `ulimit -d ${memoryMaxMib * 1024} && exec nice -n ${niceness} git "$@"`,
  ];
  return writeProgram(folder, 'git', `${lines.join('\n')}\n`);
}

/** The program that prints the user name and the password for git; the password is empty without a token. */
function askpass(folder: string, credentials: GitCredentials | undefined): string {
  const { token, username = defaultUser } = credentials && 'token' in credentials ? credentials : { token: '' };
  writeSecret(folder, 'username', username);
  writeSecret(folder, 'token', token);
  const [name, secret] = [join(folder, 'username'), join(folder, 'token')].map(quote);
  return writeProgram(folder, 'askpass', `case "$1" in Username*) exec cat ${name} ;; *) exec cat ${secret} ;; esac\n`);
}

function sshProgram({ folder, credentials, hostKeys, sshAddress }: GitOptions): string {
  const knownHosts = (hostKeys ?? []).map((key) => `${hostKeyAlias} ${key}\n`).join('');
  if (hostKeys) writeFileSync(knownHostsFile(folder), knownHosts);
  const options = [
    'BatchMode=yes',
    'ConnectTimeout=15',
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    'UpdateHostKeys=no',
    `StrictHostKeyChecking=${hostKeys ? 'yes' : 'accept-new'}`,
    `HostKeyAlias=${hostKeyAlias}`,
    `UserKnownHostsFile="${sshPath(knownHostsFile(folder))}"`,
    'GlobalKnownHostsFile=/dev/null',
    ...(sshAddress === undefined ? [] : [`HostName=${sshAddress}`]),
  ];
  const words = ['ssh', '-F', '/dev/null', ...options.flatMap((option) => ['-o', option])];
  if (credentials && 'deployKey' in credentials) {
    writeSecret(folder, 'deploy-key', `${credentials.deployKey.trimEnd()}\n`);
    words.push('-i', sshPath(join(folder, 'deploy-key')));
  } else words.push('-o', 'IdentityFile=none');
  return writeProgram(folder, 'ssh', `exec ${words.map(quote).join(' ')} "$@"\n`);
}

/** Escapes `%`, which introduces a token in ssh's options. */
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

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { cwd, timeoutMs, signal, onOutput }: GitRunOptions,
): Promise<{ code: number | null; errors: string; output: string }> {
  // A process group, because git starts other programs, which must be killed with it.
  const child = spawn(program, args, {
    ...(cwd !== undefined && { cwd }),
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let timedOut = false;
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  };
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, timeoutMs);
  signal?.addEventListener('abort', kill, { once: true });
  const stdout: Buffer[] = [];
  let [size, errors] = [0, ''];
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= outputMaxBytes) stdout.push(chunk);
    else kill();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4096);
    onOutput?.(text);
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
      if (signal?.aborted) kill();
    });
    if (code === 0) return { code, errors, output: Buffer.concat(stdout).toString('utf8') };
    if (timedOut) throw new GitError(`git did not finish within ${Math.round(timeoutMs / 1000)} s.`);
    if (size > outputMaxBytes) throw new GitError(`git printed more than ${outputMaxBytes / 1024} KiB.`);
    return { code, errors, output: '' };
  } catch (error) {
    if (error instanceof GitError) throw error;
    throw new GitError('Cannot run git. Is it installed?', 'unreachable', { cause: error });
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
  const output = await git(['ls-remote', '--heads', '--', url, name], options);
  const line = output.split('\n').find((entry) => entry.endsWith(`\t${name}`));
  const commit = line?.split('\t')[0];
  return commit !== undefined && /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined;
}
