import { usageFailure } from './failure.ts';

/** Parses `NAME=value`; the value may be empty or contain `=`. @param taker the flag or command, for the error @throws Failure (usage) */
export function readVariable(typed: string, taker = '--env'): [name: string, value: string] {
  const equals = typed.indexOf('=');
  if (equals < 1) throw usageFailure(`${taker} takes NAME=value, not "${typed}".`);
  return [typed.slice(0, equals), typed.slice(equals + 1)];
}

/** Parses `name:/path`. @throws Failure (usage) */
export function readMount(typed: string): { name: string; path: string } {
  const colon = typed.indexOf(':');
  if (colon < 1 || typed[colon + 1] !== '/') throw usageFailure(`--volume takes name:/path, not "${typed}".`);
  return { name: typed.slice(0, colon), path: typed.slice(colon + 1) };
}
