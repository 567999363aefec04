import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { Failure, usageFailure } from './failure.ts';

/** A saved login to a platform, with the settings that `svc project use` saves. */
const login = z.object({
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

export type Login = z.infer<typeof login>;

/** The configuration file: logins by the name of their context. */
const configuration = z.object({
  /** The context of commands that name none. */
  current: z.string().optional(),
  contexts: z.record(z.string(), login),
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
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { contexts: {} };
    throw new Failure(`Cannot read ${file}.`, { cause: error });
  }
  try {
    const saved: unknown = JSON.parse(content);
    const hasContexts = typeof saved === 'object' && saved !== null && 'contexts' in saved;
    return hasContexts ? configuration.parse(saved) : withOneContext(login.parse(saved));
  } catch (error) {
    throw new Failure(`${file} is not a valid svc configuration.`, {
      hint: 'delete it and sign in again: svc login',
      cause: error,
    });
  }
}

/** The configuration for a file of version 0.1, which has the fields of one login. */
function withOneContext(saved: Login): Configuration {
  if (Object.keys(saved).length === 0) return { contexts: {} };
  const current = contextName(saved.api ?? '', {});
  return { current, contexts: { [current]: saved } };
}

/** The name of a new context for an address: its host without `console.`, with a number when another context has it. */
export function contextName(api: string, contexts: Configuration['contexts']): string {
  const host = URL.parse(api)?.hostname.replace(/^console\./, '') || 'default';
  let name = host;
  for (let number = 2; name in contexts; number++) name = `${host}-${number}`;
  return name;
}

/** The configuration with changes of one context, which is created when it does not exist; undefined removes a field. */
export function withChanges(
  { current, contexts }: Configuration,
  name: string,
  changes: { [Field in keyof Login]: Login[Field] | undefined },
): Configuration {
  const entries = Object.entries({ ...contexts[name], ...changes }).filter(([, value]) => value !== undefined);
  return { current: current ?? name, contexts: { ...contexts, [name]: Object.fromEntries(entries) } };
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
