import { readFile } from 'node:fs/promises';
import type { ClientConfig } from 'pg';

/** The address of the database. */
export interface DatabaseAddress {
  /** `postgresql://user@host:port/database`; without a password in production. */
  url: string;
  /** Contains the password. Read for every connection, so that a changed password needs no restart. */
  passwordFile?: string;
}

/**
 * The settings for pg. With a password file, the URL is parsed here, because pg prefers even an empty password of a
 * connection string to a password function; of its query, only `sslmode` is used.
 */
export function connectionSettings({ url, passwordFile }: DatabaseAddress): ClientConfig {
  // A connection that takes longer is to a host that is down; keep-alive detects hosts that fail later.
  const common: ClientConfig = {
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    // All queries are short: where the planner's estimate is wrong, compiling takes longer than running.
    options: '-c jit=off',
  };
  if (passwordFile === undefined) return { ...common, connectionString: url };
  const { hostname, port, username, pathname, searchParams } = new URL(url);
  return {
    ...common,
    host: decodeURIComponent(hostname).replace(/^\[(.+)\]$/, '$1'),
    ...(port !== '' && { port: Number(port) }),
    user: decodeURIComponent(username),
    database: decodeURIComponent(pathname.slice(1)),
    ssl: ssl(searchParams.get('sslmode')),
    password: async () => (await readFile(passwordFile, 'utf8')).trim(),
  };
}

function ssl(mode: string | null): boolean | { rejectUnauthorized: false } {
  if (mode === 'no-verify') return { rejectUnauthorized: false };
  return mode === 'require' || mode === 'verify-ca' || mode === 'verify-full';
}
