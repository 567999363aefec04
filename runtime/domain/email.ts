import { Problem } from './problem.ts';

/** The spelling under which an address is stored and looked up. */
export function normaliseEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** The normalised address, after a check of its form; it need not receive mail. @throws Problem `invalid_value` */
export function checkEmail(text: string): string {
  const email = normaliseEmail(text);
  if (/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email)) return email;
  throw new Problem('invalid_value', `"${email}" is not an email address.`, { details: { field: 'email' } });
}
