import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { gitRepository, type GitRepository } from './git-server.ts';
import { freePort, untilListening } from './servers.ts';
import { missingProgram } from './test-programs.ts';

/** Why no ssh server can be started on this machine; false when one can. */
export const noSshServer = missingProgram('openssh-server');

/** A repository behind OpenSSH's own server, and the keys that may read it. */
export interface SshGitServer extends Pick<GitRepository, 'push'> {
  url: string;
  /** A private key without a passphrase, and its public half. */
  makeKey(name: string): { privateKey: string; publicKey: string };
  /** Lets only these keys read the repository. */
  admit(...publicKeys: string[]): void;
  /** The output of `ssh-keyscan` for it. */
  knownHosts(): string;
  /** Restarts it with another host key, as after a new installation. */
  changeHostKey(): Promise<void>;
}

/** Creates a key pair without a passphrase. */
export function sshKey(folder: string, name: string, passphrase = ''): { privateKey: string; publicKey: string } {
  const file = join(folder, name);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-C', '', '-f', file]);
  return { privateKey: readFileSync(file, 'utf8'), publicKey: readFileSync(`${file}.pub`, 'utf8').trim() };
}

/**
 * Starts an ssh server with one empty repository, stopped at the end of the test.
 * @param options.host the address to listen at; default 127.0.0.1
 */
export async function sshGitServer(
  t: { teardown(end: () => unknown): void },
  { host = '127.0.0.1' }: { host?: string } = {},
): Promise<SshGitServer> {
  const { root, bare, push } = gitRepository(t);
  const [hostKey, admitted, serve] = ['host_key', 'authorized_keys', 'serve'].map((name) => join(root, name));
  if (hostKey === undefined || admitted === undefined || serve === undefined) throw new Error('three names');
  const port = await freePort();
  // The only command that a client may run is reading one repository.
  const command = `git-upload-pack '/shop/api.git'`;
  writeFileSync(
    serve,
    `#!/bin/sh\n[ "$SSH_ORIGINAL_COMMAND" = "${command}" ] || exit 1\nPATH='${process.env['PATH'] ?? ''}' exec git upload-pack '${bare}'\n`,
    { mode: 0o755 },
  );
  writeFileSync(admitted, '', { mode: 0o600 });
  sshKey(root, 'host_key');
  const settings = [
    `Port ${port}`,
    `ListenAddress ${host}`,
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${admitted}`,
    `ForceCommand ${serve}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'LogLevel ERROR',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PermitRootLogin prohibit-password',
  ];
  const file = join(root, 'sshd_config');
  writeFileSync(file, `${settings.join('\n')}\n`);
  // The folder for privilege separation, which Debian creates only when the system starts the server.
  if (process.getuid?.() === 0 && !existsSync('/run/sshd')) mkdirSync('/run/sshd', { mode: 0o755 });
  const start = async () => {
    const child = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', file], { stdio: 'ignore' });
    await untilListening(port, child, host);
    return child;
  };
  let server = await start();
  const stop = async () => {
    if (server.exitCode !== null) return;
    server.kill();
    await once(server, 'exit');
  };
  t.teardown(stop);
  const name = `[${host}]:${port}`;
  return {
    push,
    url: `ssh://${userInfo().username}@${host}:${port}/shop/api.git`,
    makeKey: (named) => sshKey(root, named),
    admit: (...keys) => writeFileSync(admitted, keys.map((key) => `restrict ${key}\n`).join('')),
    knownHosts: () => `# a comment\n${name} ${readFileSync(`${hostKey}.pub`, 'utf8')}`,
    async changeHostKey() {
      await stop();
      for (const suffix of ['', '.pub']) renameSync(`${hostKey}${suffix}`, `${hostKey}-before${suffix}`);
      sshKey(root, 'host_key');
      server = await start();
    },
  };
}
