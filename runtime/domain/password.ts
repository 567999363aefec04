import { randomInt } from 'node:crypto';
import { guessableLength } from './password-strength.ts';
import { Problem } from './problem.ts';

/** Minimum length of a password, in characters. */
const passwordMin = 12;
/** Maximum length, which bounds the time for hashing. */
export const passwordMax = 1024;

const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';

/** A one-time password: four groups of five characters that are easy to read aloud, 100 bits. */
export function generatePassword(): string {
  const group = () => Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('');
  return Array.from({ length: 4 }, group).join('-');
}

/** Minimum of {@link guessableLength}: a random password of 12 characters has more. */
const guessableMin = 7;

/**
 * Checks a new password's length, and that it does not consist of what is guessed first; messages never contain it.
 * @param options.field the field of the request @param options.email the user's address, which a guesser knows
 * @throws Problem `invalid_value`
 */
export function checkPassword(
  password: string,
  { email, field = 'password' }: { email: string; field?: string },
): string {
  const refusal = (message: string) => new Problem('invalid_value', message, { details: { field } });
  if (password.length < passwordMin || password.length > passwordMax) {
    throw refusal(`A password must have ${passwordMin} to ${passwordMax} characters.`);
  }
  if (guessableLength(password, [email, ...email.split(/[@.+_-]/)]) < guessableMin) {
    throw refusal(
      'This password is easy to guess: it consists of common words, names, years, repetitions or neighbouring keys. Choose another, such as four words that have nothing to do with each other.',
    );
  }
  return password;
}
