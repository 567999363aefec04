import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { Failure, usageFailure } from './failure.ts';

/** The settings that `svc login` and `svc project use` save. */
const configuration = z.object({
  /** The management API's address. */
  api: z.string().optional(),
  /** The session's token. It is sent only to `api`. */
  token: z.string().optional(),
  email: z.string().optional(),
  /** Proof that this device signed in to `api` as `email` before; logging out keeps it. */
  device: z.string().optional(),
  project: z.string().optional(),
  environment: z.string().optional(),
});

export type Configuration = z.infer<typeof configuration>;

/** The environment variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `$XDG_CONFIG_HOME/svc/config.json`, by default below `~/.config`. */
export function configurationFile(env: Environment): string {
  const base = env['XDG_CONFIG_HOME'] || join(env['HOME'] ?? '/', '.config');
  return join(base, 'svc', 'config.json');
}

/** The saved configuration; empty when there is no file. @throws Failure when the file is not valid */
export function readConfiguration(file: string): Configuration {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Failure(`Cannot read ${file}.`, { cause: error });
  }
  try {
    return configuration.parse(JSON.parse(content));
  } catch (error) {
    throw new Failure(`${file} is not a valid svc configuration.`, {
      hint: 'delete it and sign in again: svc login',
      cause: error,
    });
  }
}

/** Replaces the file in one step, readable by its owner only. */
export function writeConfiguration(file: string, content: Configuration): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temporaryFile = `${file}.${process.pid}`;
  writeFileSync(temporaryFile, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporaryFile, file);
}

/** The address with its scheme (default https), without a trailing slash or `/api/v1`. @throws Failure (usage) */
export function normaliseAddress(typed: string): string {
  const url = URL.parse(typed.includes('://') ? typed : `https://${typed}`);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '') {
    throw usageFailure(`"${typed}" is not a valid management API address, such as https://console.apps.example.com.`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}`;
}
