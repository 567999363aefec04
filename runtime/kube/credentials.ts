import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent, type Agent } from 'node:http';
import { Agent as HttpsAgent, type AgentOptions } from 'node:https';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

/** Credentials are read again after this time, which limits the use of a rotated token or certificate. */
const reuseMs = 30_000;
/** Idle connections are closed after this time, before the API server closes them (90 s). */
const keepAliveMs = 30_000;

/** Where and how to send a request to the API server. */
interface Access {
  /** Without a trailing slash. */
  server: string;
  headers: Readonly<Record<string, string>>;
  agent: Agent;
}

export interface Credentials {
  /** The current access. Its agent stays the same, with its connections, until the TLS options change. */
  access(): Promise<Access>;
  /** Makes the next {@link access} read everything again, as after a 401. */
  expire(): void;
  /** Closes all connections. */
  close(): void;
}

/** Credentials read at one moment. */
export interface Reading {
  /** Without a trailing slash. */
  server: string;
  headers: Readonly<Record<string, string>>;
  /** A change means new connections. */
  tls: AgentOptions;
}

/** Caches what `read` returns, with an agent whose connections outlive a request. */
export function createCredentials(read: () => Promise<Reading>): Credentials {
  let current: { access: Access; readAt: number } | undefined;
  let pool: { tls: AgentOptions; agent: Agent } | undefined;

  const refresh = async (): Promise<Access> => {
    const { server, headers, tls } = await read();
    // The connections of a former agent close once they are idle.
    if (!pool || !isDeepStrictEqual(pool.tls, tls)) pool = { tls, agent: createAgent(server, tls) };
    return { server, headers, agent: pool.agent };
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
    close() {
      pool?.agent.destroy();
      pool = undefined;
      current = undefined;
    },
  };
}

function createAgent(server: string, tls: AgentOptions): Agent {
  const options = { ...tls, keepAlive: true, keepAliveMsecs: keepAliveMs, timeout: keepAliveMs };
  return server.startsWith('http:') ? new HttpAgent(options) : new HttpsAgent(options);
}

/** Credentials of a bearer token. @param read returns the token and the certificate of the server's authority */
export function tokenCredentials(server: string, read: () => Promise<{ token: string; ca: string }>): Credentials {
  return createCredentials(async () => {
    const { token, ca } = await read();
    return { server, headers: { Authorization: `Bearer ${token}` }, tls: { ca } };
  });
}

/** A pod's service account and the address of the API server. */
export interface ServiceAccount {
  /** Contains the files `token` and `ca.crt`. */
  folder: string;
  host: string;
  port: string;
}

/**
 * The credentials of a pod's service account, whose token rotates.
 * https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/#directly-accessing-the-rest-api
 */
export function serviceAccountCredentials({ folder, host, port }: ServiceAccount): Credentials {
  const file = async (name: string) => (await readFile(join(folder, name), 'utf8')).trim();
  return tokenCredentials(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`, async () => ({
    token: await file('token'),
    ca: await file('ca.crt'),
  }));
}
