import { usageFailure } from './failure.ts';

/** `NAME=value`; the value may be empty and hold further `=`. @throws Failure (usage); `what` is what takes it */
export function readVariable(typed: string, what = '--env'): [name: string, value: string] {
  const equals = typed.indexOf('=');
  if (equals < 1) throw usageFailure(`${what} takes NAME=value; not "${typed}".`);
  return [typed.slice(0, equals), typed.slice(equals + 1)];
}

/** `name:/path`. @throws Failure (usage) */
export function readMount(typed: string): { name: string; path: string } {
  const colon = typed.indexOf(':');
  if (colon < 1 || typed[colon + 1] !== '/') throw usageFailure(`--volume takes name:/path; not "${typed}".`);
  return { name: typed.slice(0, colon), path: typed.slice(colon + 1) };
}
