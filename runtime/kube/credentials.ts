import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { Agent, type Dispatcher } from 'undici';

/** A rotated token or certificate is used after this long at most; within it a request reads no file. */
const reuseMs = 30_000;
/** A connection that nobody uses is closed before the API server does it (90 s). */
const keepAliveMs = 30_000;

/** What a request to the API server needs. */
export interface Access {
  /** Without a trailing slash. */
  server: string;
  headers: Readonly<Record<string, string>>;
  dispatcher: Dispatcher;
}

export interface Credentials {
  /** The current access. Its dispatcher stays the same, with its connections, until the TLS material changes. */
  access(): Promise<Access>;
  /** Makes the next {@link access} read everything again: after a 401. */
  expire(): void;
  close(): Promise<void>;
}

/** Credentials as they were read at one moment. */
export interface Reading {
  /** Without a trailing slash. */
  server: string;
  headers: Readonly<Record<string, string>>;
  /** Another one means other TLS material, and so other connections. */
  tls: string;
  connect: () => Dispatcher;
}

/** One HTTP/2 connection for everything would let a single stuck one stop the process; no body time-out: watches. */
export const connectionOptions = { allowH2: false, keepAliveTimeout: keepAliveMs, bodyTimeout: 0, headersTimeout: 0 };
/** Of the sockets. */
export const socketOptions = { keepAlive: true, keepAliveInitialDelay: keepAliveMs };

/** Keeps what `read` finds ready, with connections that outlive a request. */
export function createCredentials(read: () => Promise<Reading>): Credentials {
  let current: { access: Access; readAt: number } | undefined;
  let pool: { tls: string; dispatcher: Dispatcher } | undefined;

  const refresh = async (): Promise<Access> => {
    const { server, headers, tls, connect } = await read();
    if (pool?.tls !== tls) {
      // What still runs on the old connections ends by itself.
      void pool?.dispatcher.close().catch(() => undefined);
      pool = { tls, dispatcher: connect() };
    }
    return { server, headers, dispatcher: pool.dispatcher };
  };

  return {
    async access() {
      const now = performance.now();
      if (!current || now - current.readAt > reuseMs) current = { access: await refresh(), readAt: now };
      return current.access;
    },
    expire() {
      current = undefined;
    },
    async close() {
      await pool?.dispatcher.destroy();
      pool = undefined;
      current = undefined;
    },
  };
}

/** Credentials of one bearer token. @param read the token and the certificate that the server must prove itself by */
export function tokenCredentials(server: string, read: () => Promise<{ token: string; ca: string }>): Credentials {
  return createCredentials(async () => {
    const { token, ca } = await read();
    return {
      server,
      headers: { Authorization: `Bearer ${token}` },
      tls: ca,
      connect: () => new Agent({ ...connectionOptions, connect: { ca, ...socketOptions } }),
    };
  });
}

/** Where a pod finds its service account and the API server. */
export interface ServiceAccount {
  /** With the files `token` and `ca.crt`. */
  folder: string;
  host: string;
  port: string;
}

/**
 * The service account of a pod, whose token is read again as it rotates.
 * https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/#directly-accessing-the-rest-api
 */
export function serviceAccountCredentials({ folder, host, port }: ServiceAccount): Credentials {
  const file = async (name: string) => (await readFile(join(folder, name), 'utf8')).trim();
  return tokenCredentials(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`, async () => ({
    token: await file('token'),
    ca: await file('ca.crt'),
  }));
}
