import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { AgentOptions, RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { Agent, ProxyAgent, type Dispatcher } from 'undici';

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

/** Keeps a kubeconfig's authentication ready. client-node would make a new connection for every request. */
export function createCredentials(config: KubeConfig): Credentials {
  let current: { access: Access; readAt: number } | undefined;
  let pool: { key: string; dispatcher: Dispatcher } | undefined;

  const read = async (): Promise<Access> => {
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error('the kubeconfig names no current cluster');
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const { type, ...rest } = config.createDispatcherOptions(cluster, options as AgentOptions);
    const key = createHash('sha256')
      .update(JSON.stringify([type, rest]))
      .digest('hex');
    if (pool?.key !== key) {
      // What still runs on the old connections ends by itself.
      void pool?.dispatcher.close().catch(() => undefined);
      pool = { key, dispatcher: createDispatcher(config.createDispatcherOptions(cluster, options as AgentOptions)) };
    }
    return {
      server: cluster.server.replace(/\/+$/, ''),
      headers: { ...authorizationOf(options), ...(await rotatingToken(config)) },
      dispatcher: pool.dispatcher,
    };
  };

  return {
    async access() {
      const now = performance.now();
      if (!current || now - current.readAt > reuseMs) current = { access: await read(), readAt: now };
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

/** The token of a service account. client-node would go on sending an old one for a minute, whatever the answer. */
async function rotatingToken(config: KubeConfig): Promise<Record<string, string>> {
  const settings = config.getCurrentUser()?.authProvider?.config as { tokenFile?: unknown } | undefined;
  if (typeof settings?.tokenFile !== 'string') return {};
  return { Authorization: `Bearer ${(await readFile(settings.tokenFile, 'utf8')).trim()}` };
}

function authorizationOf({ auth, headers }: RequestOptions): Record<string, string> {
  const given = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).trim()]);
  const basic = auth ? { Authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {};
  return { ...basic, ...Object.fromEntries(given) };
}

function createDispatcher(options: ReturnType<KubeConfig['createDispatcherOptions']>): Dispatcher {
  // One HTTP/2 connection for everything would let a single stuck one stop the process; no body time-out: watches.
  const shared = { allowH2: false, keepAliveTimeout: keepAliveMs, bodyTimeout: 0, headersTimeout: 0 };
  if (options.type === 'socks') throw new Error('a SOCKS proxy in the kubeconfig is not supported');
  if (options.type === 'proxy') {
    const requestTls = options.requestTls as NonNullable<ProxyAgent.Options['requestTls']>;
    return new ProxyAgent({ ...shared, uri: options.uri, requestTls });
  }
  const plain = { keepAlive: true, keepAliveInitialDelay: keepAliveMs };
  const connect = options.type === 'agent' ? (options.connect as NonNullable<Agent.Options['connect']>) : plain;
  return new Agent({ ...shared, connect });
}
