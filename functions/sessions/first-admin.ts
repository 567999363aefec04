import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Pool } from 'pg';
import { newId } from '../../runtime/domain/ids.ts';
import { passwordMin } from '../../runtime/domain/password.ts';
import { createFirstAdmin, hasAdmin } from '../../runtime/records/users.ts';
import type { Passwords } from './password.ts';

export interface FirstAdminOptions {
  pool: Pool;
  passwords: Passwords;
  log: Logger;
  email: string;
  /** Without it nobody is created. The password is the file's text up to a final line break. */
  passwordFile?: string;
}

/**
 * Creates the installation's first admin when there is none; afterwards file and address are not looked at again. Safe
 * in several replicas at once. @throws Error when the file holds fewer than 12 characters
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
    log.warn('there is no admin, and no password file to create one from');
    return;
  }
  const password = (await readFile(passwordFile, 'utf8')).replace(/\r?\n$/, '');
  if (password.length < passwordMin) throw new Error('the first admin’s password file holds fewer than 12 characters');
  const created = await createFirstAdmin(pool, { id: newId(), email, passwordHash: await passwords.hash(password) });
  if (created) log.info({ email }, 'first admin created');
}
