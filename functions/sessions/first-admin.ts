import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Pool } from 'pg';
import { newId } from '../../runtime/domain/ids.ts';
import { checkPassword } from '../../runtime/domain/password.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { createFirstAdmin, hasAdmin } from '../../runtime/records/users.ts';
import type { Passwords } from './password.ts';

export interface FirstAdminOptions {
  pool: Pool;
  passwords: Passwords;
  log: Logger;
  email: string;
  /** Without it no admin is created. The password is the file's text without a final line break. */
  passwordFile?: string;
}

/**
 * Creates the installation's first admin if there is none. Safe in several replicas at once.
 * @throws Error when the file's password is too short or easy to guess
 */
export async function ensureFirstAdmin({
  pool,
  passwords,
  log,
  email,
  passwordFile,
}: FirstAdminOptions): Promise<void> {
  if (await hasAdmin(pool)) return;
  if (passwordFile === undefined) {
    log.warn('no platform admin exists, and there is no password file to create one');
    return;
  }
  const password = (await readFile(passwordFile, 'utf8')).replace(/\r?\n$/, '');
  try {
    checkPassword(password, { email });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Error(`the first admin’s password file: ${error.message}`, { cause: error });
  }
  const passwordHash = await passwords.hash(password, email);
  const created = await createFirstAdmin(pool, { id: newId(), email, passwordHash });
  if (created) log.info({ email }, 'first admin created');
}
