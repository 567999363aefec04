import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { Failure, usageFailure } from './failure.ts';

/** What `svc login` and `svc project use` remember. */
const configuration = z.object({
  /** The management API's address. */
  api: z.string().optional(),
  /** The session's token: goes to `api` and nowhere else. */
  token: z.string().optional(),
  email: z.string().optional(),
  project: z.string().optional(),
  environment: z.string().optional(),
});

export type Configuration = z.infer<typeof configuration>;

/** Variables of the environment as the command line reads them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `$XDG_CONFIG_HOME/svc/config.json`, by default below `~/.config`. */
export function configurationFile(env: Environment): string {
  const base = env['XDG_CONFIG_HOME'] || join(env['HOME'] ?? '/', '.config');
  return join(base, 'svc', 'config.json');
}

/** What is remembered; nothing when there is no file. @throws Failure when the file cannot be understood */
export function readConfiguration(file: string): Configuration {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Failure(`${file} cannot be read.`, { cause: error });
  }
  try {
    return configuration.parse(JSON.parse(content));
  } catch (error) {
    throw new Failure(`${file} is not a configuration of svc.`, { hint: 'delete it and log in again', cause: error });
  }
}

/** Replaces the file in one step, readable by its owner only. */
export function writeConfiguration(file: string, content: Configuration): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(beside, file);
}

/** The address in one form: with its scheme (https when none is typed), without a path or a slash at its end. */
export function normaliseAddress(typed: string): string {
  const url = URL.parse(typed.includes('://') ? typed : `https://${typed}`);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '') {
    throw usageFailure(`"${typed}" is not the address of a management API, such as https://console.apps.example.com.`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}`;
}
