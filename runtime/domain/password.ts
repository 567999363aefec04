import { randomInt } from 'node:crypto';
import { Problem } from './problem.ts';

/** Characters of a password at least. */
export const passwordMin = 12;
/** Characters at most, so that hashing has a bound. */
export const passwordMax = 1024;

const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';

/** A password that somebody else hands over: four groups of five characters that are easy to read out, 100 bits. */
export function generatePassword(): string {
  const group = () => Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('');
  return Array.from({ length: 4 }, group).join('-');
}

/** Checks a new password's length; the message never repeats it. @throws Problem `invalid_value` */
export function checkPassword(password: string, field = 'password'): string {
  if (password.length >= passwordMin && password.length <= passwordMax) return password;
  throw new Problem('invalid_value', `A password has ${passwordMin} to ${passwordMax} characters.`, {
    details: { field },
  });
}
