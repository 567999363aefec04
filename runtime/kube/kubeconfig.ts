import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { AgentOptions, RequestOptions } from 'node:https';
import { dirname, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import { parse } from 'yaml';
import { connectionOptions, createCredentials, socketOptions, type Credentials } from './credentials.ts';

/** https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/#AuthInfo */
interface NamedUser {
  name: string;
  user?: { tokenFile?: string };
}

/** The credentials of the kubeconfig at `path`, by any way that it names. @throws Error when it cannot be read */
export function loadKubeConfig(path: string): Credentials {
  const config = new KubeConfig();
  config.loadFromFile(path);
  for (const { name, user } of (parse(readFileSync(path, 'utf8')) as { users?: NamedUser[] }).users ?? []) {
    if (user?.tokenFile === undefined) continue;
    // client-node knows this field by no name that kubectl knows, but treats a provider of this name as a pod's token.
    const authProvider = { name: 'tokenFile', config: { tokenFile: resolve(dirname(path), user.tokenFile) } };
    config.users = config.users.map((known) => (known.name === name ? { ...known, authProvider } : known));
  }
  return kubeconfigCredentials(config);
}

/** Keeps a kubeconfig's authentication ready. client-node would make a new connection for every request. */
export function kubeconfigCredentials(config: KubeConfig): Credentials {
  return createCredentials(async () => {
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error('the kubeconfig names no current cluster');
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const dispatcherOptions = config.createDispatcherOptions(cluster, options as AgentOptions);
    const { type, ...rest } = dispatcherOptions;
    return {
      server: cluster.server.replace(/\/+$/, ''),
      headers: { ...authorizationOf(options), ...(await rotatingToken(config)) },
      tls: createHash('sha256')
        .update(JSON.stringify([type, rest]))
        .digest('hex'),
      connect: () => createDispatcher(dispatcherOptions),
    };
  });
}

/** The token in a file. client-node would go on sending an old one for a minute, whatever the answer. */
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
  if (options.type === 'socks') throw new Error('a SOCKS proxy in the kubeconfig is not supported');
  if (options.type === 'proxy') {
    const requestTls = options.requestTls as NonNullable<ProxyAgent.Options['requestTls']>;
    return new ProxyAgent({ ...connectionOptions, uri: options.uri, requestTls });
  }
  const connect = options.type === 'agent' ? (options.connect as NonNullable<Agent.Options['connect']>) : socketOptions;
  return new Agent({ ...connectionOptions, connect });
}
