import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../domain/problem.ts';

type Settings = Readonly<Record<string, unknown>>;

/**
 * Checks that an object still is what the caller of a change saw (decision 0075).
 * @param seen only the settings that the caller names
 * @param subject the object for the message, and the command that shows it
 * @throws Problem `conflict` that names the settings that are others now
 */
export function checkUnchanged(seen: Settings, now: Settings, subject: { what: string; command: string }): void {
  const others = Object.keys(seen).filter((name) => {
    return seen[name] !== undefined && !isDeepStrictEqual(seen[name], now[name]);
  });
  if (others.length === 0) return;
  const { what, command } = subject;
  throw new Problem(
    'conflict',
    `Another request changed ${others.join(', ')} of ${what} in the meantime. Show it with \`${command}\`.`,
    { details: { settings: others } },
  );
}
