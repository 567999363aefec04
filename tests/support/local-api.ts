import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, request } from 'undici';
import { createApiServer, type ApiServer, type ApiServerOptions } from '../../infra/local/apiserver/server.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { createKubeClient, loadKubeConfig, type ConnectedKubeClient } from '../../runtime/kube/client.ts';

interface Teardown {
  testdir(): string;
  teardown(end: () => unknown): void;
}

/** An answer of the server as it is. */
export interface ApiAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the server says
  body: any;
}

/** An embedded API server of a test's own. */
export interface ApiUnderTest {
  server: ApiServer;
  /** As the administrator. */
  kube: ConnectedKubeClient;
  dataDir: string;
  adminToken: string;
  /** One request, by default as the administrator; `token: ''` sends none. */
  ask: (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    more?: Asked,
  ) => Promise<ApiAnswer>;
  /** A client with another token. */
  as: (token: string) => ConnectedKubeClient;
}

interface Asked {
  token?: string;
  contentType?: string;
  accept?: string;
}

/** Starts a server; with `dataDir`, on what an earlier one left. */
export async function startApi(
  t: Teardown,
  options: Partial<ApiServerOptions> & { dataDir?: string } = {},
): Promise<ApiUnderTest> {
  const dataDir = options.dataDir ?? t.testdir();
  const server = createApiServer({ clock: systemClock, ...options, dataDir });
  await server.start();
  const config = loadKubeConfig(server.kubeconfig);
  const kube = createKubeClient(config);
  const ca = Buffer.from(config.getCurrentCluster()?.caData ?? '', 'base64').toString();
  const dispatcher = new Agent({ connect: { ca } });
  const clients = [kube];
  t.teardown(async () => {
    for (const client of clients) await client.close();
    await dispatcher.destroy();
    await server.stop();
  });
  const adminToken = readFileSync(join(dataDir, 'pki/admin.token'), 'utf8');

  return {
    server,
    kube,
    dataDir,
    adminToken,
    async ask(method, path, body, { token = adminToken, contentType, accept = 'application/json' } = {}) {
      const type = contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
      const response = await request(server.url + path, {
        method,
        dispatcher,
        headers: { accept, ...(token && { authorization: `Bearer ${token}` }), ...(body && { 'content-type': type }) },
        body: body ? JSON.stringify(body) : null,
      });
      const text = await response.body.text();
      return { status: response.statusCode, headers: response.headers, body: parsed(text) };
    },
    as(token) {
      const other = new KubeConfig();
      const cluster = {
        name: 'local',
        server: server.url,
        caData: Buffer.from(ca).toString('base64'),
        skipTLSVerify: false,
      };
      other.loadFromClusterAndUser(cluster, { name: 'other', token });
      const client = createKubeClient(other);
      clients.push(client);
      return client;
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
