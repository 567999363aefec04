/**
 * How root starts the process of the embedded cluster. It gets a mount namespace, for the names of pods' users
 * (`node/user-names.ts`). Neither it nor a pod gains rights by running a program, such as one with a set-user-id bit.
 */
export function rootCommand(command: readonly string[]): string[] {
  // What the caller preloads into Node.js, such as tap, may start itself in pods, whose users cannot write its reports.
  const environment = ['env', '-u', 'NODE_OPTIONS'];
  return ['setpriv', '--no-new-privs', 'unshare', '--mount', '--propagation', 'slave', ...environment, ...command];
}
