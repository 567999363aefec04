import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { loadAccess } from '../../infra/local/apiserver/access.ts';
import { createApiServer, type ApiServer, type ApiServerOptions } from '../../infra/local/apiserver/server.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { createKubeClient, type ConnectedKubeClient } from '../../runtime/kube/client.ts';
import { tokenCredentials } from '../../runtime/kube/credentials.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import { ownFolder } from './own-folder.ts';

interface Teardown {
  teardown(end: () => unknown): void;
}

/** The server's answer, unchanged. */
interface ApiAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // oxlint-disable-next-line typescript/no-explicit-any -- the server decides the shape
  body: any;
}

/** An embedded API server for one test. */
export interface ApiUnderTest {
  server: ApiServer;
  /** As the administrator. */
  kube: ConnectedKubeClient;
  dataDir: string;
  adminToken: string;
  /** Sends one request, by default as the administrator; `token: ''` sends none. */
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

/** Starts a server; with `dataDir`, on the data of an earlier one. */
export async function startApi(
  t: Teardown,
  options: Partial<ApiServerOptions> & { dataDir?: string } = {},
): Promise<ApiUnderTest> {
  const dataDir = options.dataDir ?? ownFolder(t);
  const server = createApiServer({ clock: systemClock, ...options, dataDir });
  await server.start();
  const kube = createKubeClient(loadKubeConfig(server.kubeconfig));
  const ca = loadAccess(join(dataDir, 'pki'), [], systemClock.now()).tls.certificate;
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
      const client = createKubeClient(tokenCredentials(server.url, async () => ({ token, ca })));
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
