import type { ReplacedRole } from '../contracts/api/members.ts';
import { Problem } from '../domain/problem.ts';
import type { ProjectRole } from '../domain/roles.ts';

/** The kind of statement that writes a role only where it replaces the expected one. Pure. */
export function writeOf(replaces: ReplacedRole): 'insert' | 'update' | 'upsert' {
  if (replaces === undefined) return 'upsert';
  return replaces === 'none' ? 'insert' : 'update';
}

/** The value of the expected role, for an `update` only. Pure. */
export function expectedRole(replaces: ReplacedRole): ProjectRole[] {
  return replaces === undefined || replaces === 'none' ? [] : [replaces];
}

/** The refusal of a change whose user has another role; the same with and without an account. */
export function otherRole(): Problem {
  const message = 'Another request changed the role of this user in the meantime. Show it with `svc member list`.';
  return new Problem('conflict', message);
}
