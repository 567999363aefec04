import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { AgentOptions, RequestOptions } from 'node:https';
import { dirname, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { createCredentials, type Credentials } from './credentials.ts';

/** https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/#AuthInfo */
interface NamedUser {
  name: string;
  user?: { tokenFile?: string };
}

/** The credentials of the kubeconfig at `path`, with any authentication that it names. @throws Error for an unreadable file */
export function loadKubeConfig(path: string): Credentials {
  const config = new KubeConfig();
  config.loadFromFile(path);
  for (const { name, user } of (parse(readFileSync(path, 'utf8')) as { users?: NamedUser[] }).users ?? []) {
    if (user?.tokenFile === undefined) continue;
    // client-node ignores this field of kubectl, but reads the token file of a provider with this name.
    const authProvider = { name: 'tokenFile', config: { tokenFile: resolve(dirname(path), user.tokenFile) } };
    config.users = config.users.map((entry) => (entry.name === name ? { ...entry, authProvider } : entry));
  }
  return kubeconfigCredentials(config);
}

/** The credentials of a kubeconfig. client-node itself would open a new connection for every request. */
export function kubeconfigCredentials(config: KubeConfig): Credentials {
  return createCredentials(async () => {
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error('the kubeconfig names no current cluster');
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options as AgentOptions;
    const tls = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
    return {
      server: cluster.server.replace(/(?<!\/)\/+$/, ''),
      headers: { ...authorizationOf(options), ...(await rotatingToken(config)) },
      tls: {
        ...(Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined)) as AgentOptions),
        ...proxyOptions(cluster.proxyUrl),
      },
    };
  });
}

function proxyOptions(proxyUrl: string | undefined): AgentOptions {
  if (proxyUrl === undefined) return {};
  if (proxyUrl.startsWith('socks')) throw new Error('SOCKS proxies in a kubeconfig are not supported');
  return { proxyEnv: { HTTPS_PROXY: proxyUrl, HTTP_PROXY: proxyUrl } };
}

/** The current token of a file. client-node would cache an old one for a minute. */
async function rotatingToken(config: KubeConfig): Promise<Record<string, string>> {
  const settings = config.getCurrentUser()?.authProvider?.config as { tokenFile?: unknown } | undefined;
  if (typeof settings?.tokenFile !== 'string') return {};
  return { Authorization: `Bearer ${(await readFile(settings.tokenFile, 'utf8')).trim()}` };
}

function authorizationOf({ auth, headers }: RequestOptions): Record<string, string> {
  const entries = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).trim()]);
  const basic = auth ? { Authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {};
  return { ...basic, ...Object.fromEntries(entries) };
}
