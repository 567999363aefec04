import { randomInt } from 'node:crypto';
import { Problem } from './problem.ts';

/** Minimum length of a password, in characters. */
export const passwordMin = 12;
/** Maximum length, which bounds the time for hashing. */
export const passwordMax = 1024;

const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';

/** A one-time password: four groups of five characters that are easy to read aloud, 100 bits. */
export function generatePassword(): string {
  const group = () => Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('');
  return Array.from({ length: 4 }, group).join('-');
}

/** Checks a new password's length; the message never contains it. @throws Problem `invalid_value` */
export function checkPassword(password: string, field = 'password'): string {
  if (password.length >= passwordMin && password.length <= passwordMax) return password;
  throw new Problem('invalid_value', `A password must have ${passwordMin} to ${passwordMax} characters.`, {
    details: { field },
  });
}
