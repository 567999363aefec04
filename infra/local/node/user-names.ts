import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, statSync, unwatchFile, watchFile, writeFileSync } from 'node:fs';
import type { Logger } from 'pino';

const machineFile = '/etc/passwd';
/** How often to check whether a program has replaced the machine's file. */
const checkMs = 500;

/**
 * The names of the users that pods run as, which programs such as ssh and PostgreSQL need. In the mount namespace of this
 * process, /etc/passwd is a copy with these users. The kernel removes that mount when a program of the machine replaces
 * the file, as `useradd` and package managers do; then the new file is copied and mounted.
 */
export interface UserNames {
  /** Gives a user a name. @throws Error when the copy cannot be written or mounted */
  add(user: number): void;
  /** Ends the check for replaced files. */
  stop(): void;
}

/**
 * Mounts the copy over /etc/passwd. Call it only in a process with a mount namespace of its own.
 * @param copy the path of the copy
 * @throws Error when the copy cannot be written or mounted
 */
export function openUserNames(copy: string, log: Logger): UserNames {
  const users = new Set<number>();
  const mountCopy = () => {
    if (isSameFile(copy, machineFile)) return;
    const lines = [readFileSync(machineFile, 'utf8').trimEnd(), ...[...users].map(passwdLine), ''];
    writeFileSync(copy, lines.join('\n'), { mode: 0o644 });
    execFileSync('mount', ['--bind', copy, machineFile], { stdio: 'pipe' });
  };
  const check = () => {
    try {
      mountCopy();
    } catch (error) {
      log.error({ err: error }, 'users of pods have no names: the copy of /etc/passwd is not mounted');
    }
  };
  mountCopy();
  watchFile(machineFile, { interval: checkMs, persistent: false }, check);
  return {
    add(user) {
      mountCopy();
      if (users.has(user)) return;
      appendFileSync(copy, `${passwdLine(user)}\n`);
      users.add(user);
    },
    stop: () => unwatchFile(machineFile, check),
  };
}

function passwdLine(user: number): string {
  return `pod-${user}:x:${user}:${user}::/nonexistent:/bin/sh`;
}

function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return first !== undefined && first.dev === second?.dev && first.ino === second.ino;
}
