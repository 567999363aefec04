import { readFile } from 'node:fs/promises';
import type { ClientConfig } from 'pg';

/** Where the database is. */
export interface DatabaseAddress {
  /** `postgresql://user@host:port/database`; in production without a password. */
  url: string;
  /** Holds the password. Read at every connection, so that a changed one needs no restart. */
  passwordFile?: string;
}

/**
 * What pg needs to connect. The URL is taken apart when a password file is given, since pg lets an empty password of a
 * connection string win over a password function; of its query only `sslmode` counts then.
 */
export function connectionSettings({ url, passwordFile }: DatabaseAddress): ClientConfig {
  // A connection that takes longer is one to a host that is gone; keep-alive finds those that go later.
  const common: ClientConfig = {
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    // Every query here is short: where the planner's estimate is off, compiling one takes longer than running it.
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
