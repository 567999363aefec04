import { copyFileSync } from 'node:fs';

/**
 * How root starts the process of the embedded cluster. It gets a mount namespace, in which /etc/passwd is a copy with the
 * users of pods: ssh and PostgreSQL refuse to run as a user without a name. Neither it nor a pod gains rights by running a
 * program, such as one with a set-user-id bit.
 * @param passwd where to put the copy
 */
export function rootCommand(passwd: string, command: readonly string[]): string[] {
  copyFileSync('/etc/passwd', passwd);
  // What the caller preloads into Node.js, such as tap, may start itself in pods, whose users cannot write its reports.
  const script = 'unset NODE_OPTIONS; mount --bind "$0" /etc/passwd && exec "$@"';
  const namespace = ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c', script, passwd];
  return ['setpriv', '--no-new-privs', ...namespace, ...command];
}
