import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { Test } from 'tap';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import type { FakeKube } from '../../support/fake-kube.ts';

const path = /^\/(?:apis\/([a-z0-9.]+)|api)\/v1(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?$/;

/** The served kinds, by group and plural. */
const served: Readonly<Record<string, ResourceKind>> = {
  'platform.svc/apps': kinds.App,
  'platform.svc/functions': kinds.Function,
  'platform.svc/services': kinds.ServiceResource,
  'platform.svc/platformconfigs': kinds.PlatformConfig,
  '/secrets': kinds.Secret,
  '/pods': kinds.Pod,
};

/**
 * Serves Apps, Functions, Secrets and settings of a fake cluster over HTTP, so that other processes can use it.
 * @param review the status of every TokenReview @returns a kubeconfig's path
 */
export async function serveApps(t: Test, kube: FakeKube, { review }: { review?: object } = {}): Promise<string> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://api');
    const [matched, group = '', namespace, plural, name] = path.exec(url.pathname) ?? [];
    if (plural === 'tokenreviews' && review) return { ...((await json(request)) as object), status: review };
    const kind = served[`${group}/${plural}`];
    if (matched === undefined || !kind) throw new KubeError(404, 'NotFound', `nothing at ${url.pathname}`);
    if (name === undefined && url.searchParams.get('watch') === 'true') {
      const disconnected = new AbortController();
      response.on('close', () => disconnected.abort());
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
      const resourceVersion = url.searchParams.get('resourceVersion') ?? '0';
      for await (const event of kube.watch<App>(kinds.App, { resourceVersion }, disconnected.signal)) {
        response.write(`${JSON.stringify(event)}\n`);
      }
      return undefined;
    }
    if (request.method === 'POST') return kube.create((await json(request)) as KubeObject);
    if (name === undefined) {
      const { items, resourceVersion } = await kube.list<App>(kinds.App);
      return { kind: 'AppList', metadata: { resourceVersion }, items };
    }
    if (request.method === 'PUT') return kube.replace((await json(request)) as Stored<KubeObject>);
    const object = await kube.get(kind, name, namespace);
    if (!object) throw new KubeError(404, 'NotFound', `${plural} "${name}" not found`);
    return object;
  };
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const reply = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    try {
      const body = await answer(request, response);
      if (body === undefined) response.end();
      else reply(200, body);
    } catch (error) {
      const failure = error instanceof KubeError ? error : new KubeError(500, 'InternalError', String(error));
      const { status: code, reason, message } = failure;
      reply(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message });
    }
  };
  const server = createServer((request, response) => {
    void respond(request, response);
  }).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const kubeconfig = join(t.testdir({}), 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'test', cluster: { server: `http://127.0.0.1:${address.port}`, 'insecure-skip-tls-verify': true } },
    ],
    users: [{ name: 'test', user: {} }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  return kubeconfig;
}
