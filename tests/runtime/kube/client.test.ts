import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { KubeConfig } from '@kubernetes/client-node';
import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { selfSignedCertificate } from '../../../infra/local/apiserver/certificate.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { connectKube } from '../../../runtime/kube/connect.ts';
import { kubeconfigCredentials } from '../../../runtime/kube/kubeconfig.ts';
import { createInformer, type Change } from '../../../runtime/kube/informer.ts';
import { jsonLines } from '../../../runtime/kube/json-lines.ts';
import { isKubeError, type WatchEvent } from '../../../runtime/kube/kube-client.ts';
import { noCluster, testCluster } from '../../support/kubernetes.ts';
import { silentLog } from '../../support/log.ts';
import { eventually } from '../../support/platform.ts';

interface Teardown {
  teardown(end: () => unknown): void;
  testdir(): string;
}

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const json = (response: ServerResponse, status: number, body: object) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** A server on loopback with a test's answers, and a client with a token file. */
async function fakeApi(t: Teardown, answer: Answer) {
  const received: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    received.push(`${request.method} ${request.url}`);
    void text(request).then((body) => answer(request, response, body));
  });
  server.on('connection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const tokenFile = join(t.testdir(), 'token');
  writeFileSync(tokenFile, 'first');
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'fake', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'user', authProvider: { name: 'tokenFile', config: { tokenFile } } },
  );
  const kube = createKubeClient(kubeconfigCredentials(config));
  t.teardown(async () => {
    await kube.close();
    server.closeAllConnections();
    server.close();
  });
  return { kube, received, server, tokenFile, connections: () => connections };
}

const configMap = (name: string, data: Record<string, string> = {}): KubeObject & { data: Record<string, string> } => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'a' },
  data,
});

t.test('paths, methods and content types match the API', async (t) => {
  const types: (string | undefined)[] = [];
  const { kube, received, connections } = await fakeApi(t, (request, response) => {
    types.push(request.headers['content-type']);
    json(response, 200, { metadata: { name: 'x', managedFields: [{}] }, items: [], spec: {} });
  });
  const stored = { ...configMap('x'), metadata: { ...configMap('x').metadata, uid: 'u', resourceVersion: '1' } };
  const ref = { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'a', name: 'x' };
  t.same(await kube.get(kinds.ConfigMap, 'x', 'a'), { metadata: { name: 'x' }, items: [], spec: {} });
  await kube.list(kinds.App, { namespace: 'a', labelSelector: 'app=x,y' });
  await kube.list(kinds.App);
  await kube.create(configMap('x'));
  await kube.replace(stored);
  await kube.replaceStatus(stored);
  await kube.mergePatch(ref, {});
  await kube.mergePatch(ref, {}, 'status');
  await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: 'x' });
  await kube.getScale('a', 'x');
  await kube.replaceScale({ namespace: 'a', name: 'x', resourceVersion: '1', replicas: 0, currentReplicas: 0 }, 1);
  t.same(received, [
    'GET /api/v1/namespaces/a/configmaps/x',
    'GET /apis/platform.svc/v1/namespaces/a/apps?labelSelector=app%3Dx%2Cy&limit=500',
    'GET /apis/platform.svc/v1/apps?limit=500',
    'POST /api/v1/namespaces/a/configmaps',
    'PUT /api/v1/namespaces/a/configmaps/x',
    'PUT /api/v1/namespaces/a/configmaps/x/status',
    'PATCH /apis/platform.svc/v1/namespaces/a/apps/x',
    'PATCH /apis/platform.svc/v1/namespaces/a/apps/x/status',
    'DELETE /api/v1/namespaces/x',
    'GET /apis/apps/v1/namespaces/a/deployments/x/scale',
    'PUT /apis/apps/v1/namespaces/a/deployments/x/scale',
  ]);
  t.same(types.slice(6, 8), ['application/merge-patch+json', 'application/merge-patch+json']);
  for (let call = 0; call < 25; call++) {
    await kube.get(kinds.ConfigMap, 'x', 'a');
    await kube.delete({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'a', name: 'x' });
  }
  t.ok(connections() <= 4, `${connections()} connections for 61 calls, one after the other`);
  await t.rejects(
    kube.create({ apiVersion: 'v1', kind: 'ReplicationController', metadata: { name: 'x' } }),
    /does not use the resource v1 ReplicationController/,
  );
  await t.rejects(kube.get(kinds.ConfigMap, 'x'), /needs a namespace/);
  await t.rejects(kube.delete({ ...ref, name: '' }), /without a name/);
});

t.test('a refusal carries status and reason, whatever its body', async (t) => {
  let body = '';
  let status = 0;
  const { kube } = await fakeApi(t, (_request, response) => {
    response.writeHead(status).end(body);
  });
  const refused = async () => {
    const error = await kube.create(configMap('x')).catch((thrown: unknown) => thrown);
    return isKubeError(error) ? [error.status, error.reason, error.message] : error;
  };
  status = 409;
  body = JSON.stringify({ kind: 'Status', code: 409, reason: 'AlreadyExists', message: 'it exists' });
  t.same(await refused(), [409, 'AlreadyExists', 'it exists']);
  status = 503;
  body = '<html>';
  t.same(await refused(), [503, 'ServiceUnavailable', '503 Service Unavailable']);
  status = 403;
  body = JSON.stringify({
    code: 403,
    reason: 'Forbidden',
    message: 'm',
    details: { causes: [{ reason: 'NamespaceTerminating' }] },
  });
  t.same(await refused(), [403, 'NamespaceTerminating', 'm']);
  status = 404;
  t.equal(await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: 'x' }).catch(() => 'threw'), 'threw');
  body = '';
  t.equal(await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: 'x' }), false);
  t.equal(await kube.get(kinds.Namespace, 'x'), undefined);
  t.equal(await kube.getScale('a', 'x'), undefined);
});

t.test('a list is read in pages, and again in one piece when its version expires in between', async (t) => {
  let expired = false;
  const { kube, received } = await fakeApi(t, (request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    const more = query.get('continue');
    if (more && expired) {
      json(response, 410, { code: 410, reason: 'Expired', message: 'expired' });
      return;
    }
    const last = more !== null || !query.has('limit');
    const metadata = { resourceVersion: '7', ...(!last && { continue: 'next' }) };
    json(response, 200, { metadata, items: [{ metadata: { name: last ? 'two' : 'one' } }] });
  });
  const listed = await kube.list(kinds.App);
  t.equal(listed.resourceVersion, '7');
  t.same(listed.items, [
    { apiVersion: 'platform.svc/v1', kind: 'App', metadata: { name: 'one' } },
    { apiVersion: 'platform.svc/v1', kind: 'App', metadata: { name: 'two' } },
  ]);
  expired = true;
  t.equal((await kube.list(kinds.App)).items.length, 1);
  t.equal(received.at(-1), 'GET /apis/platform.svc/v1/apps');
});

t.test('a read is repeated when the server closed its connection, and a write is not', async (t) => {
  let breaking = true;
  let writes = 0;
  const { kube } = await fakeApi(t, (request, response) => {
    if (request.method === 'POST') writes += 1;
    if (breaking) response.destroy();
    else json(response, 200, { metadata: {} });
    if (request.method === 'GET') breaking = false;
  });
  t.ok(await kube.get(kinds.Namespace, 'x'));
  breaking = true;
  await t.rejects(kube.create(configMap('x')));
  t.equal(writes, 1);
});

t.test('lines are joined across any chunks', async (t) => {
  const bytes = Buffer.from(`{"a":"é"}\n\n{"b":${JSON.stringify('x'.repeat(100))}}\n{"cut`);
  for (const size of [1, 2, 7, 1_000]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    const lines: unknown[] = [];
    // oxlint-disable-next-line typescript/await-thenable -- an array serves as a stream
    for await (const line of jsonLines(
      (async function* () {
        yield* chunks;
      })(),
    ))
      lines.push(line);
    t.same(lines, [{ a: 'é' }, { b: 'x'.repeat(100) }], `in chunks of ${size}`);
  }
});

t.test('a watch yields events, turns an error event into an error, and ends on request', async (t) => {
  let response: ServerResponse | undefined;
  const { kube, received } = await fakeApi(t, (_request, opened) => {
    response = opened;
    opened.writeHead(200).flushHeaders();
    opened.write(`${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'x', resourceVersion: '2' } } })}\n`);
  });
  const stop = new AbortController();
  const events: WatchEvent<KubeObject>[] = [];
  const error = await (async () => {
    for await (const event of kube.watch(kinds.App, { namespace: 'a', resourceVersion: '1' }, stop.signal)) {
      events.push(event);
      const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
      response?.write(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
    }
  })().catch((thrown: unknown) => thrown);
  t.same(events, [{ type: 'ADDED', object: { metadata: { name: 'x', resourceVersion: '2' } } }]);
  t.ok(isKubeError(error, 410));
  t.match(
    received[0],
    /^GET \/apis\/platform.svc\/v1\/namespaces\/a\/apps\?watch=true&allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=\d+$/,
  );

  const ended = (async () => {
    for await (const _event of kube.watch(kinds.App, { resourceVersion: '1' }, stop.signal))
      stop.abort(new Error('enough'));
  })();
  await t.rejects(ended, { message: 'enough' });
});

t.test('an informer drops a connection that hangs silently', async (t) => {
  let lists = 0;
  let cut: (() => void) | undefined;
  const hung = new Promise<void>((resolve) => (cut = resolve));
  const { kube } = await fakeApi(t, (request, response) => {
    if (request.url?.includes('watch=true')) {
      response.writeHead(200).flushHeaders();
      response.once('close', () => cut?.());
      return;
    }
    lists += 1;
    const items = lists === 1 ? [] : [{ metadata: { name: 'missed', resourceVersion: '5' } }];
    json(response, 200, { metadata: { resourceVersion: String(lists) }, items });
  });
  const informer = createInformer({ kube, kind: kinds.App, clock: systemClock, log: silentLog, silenceMs: 100 });
  t.teardown(() => informer.stop());
  const change = new Promise<Change<KubeObject>>((resolve) => informer.onChange(resolve));
  informer.start();
  t.match(await change, { type: 'added', object: { metadata: { name: 'missed' } } });
  await hung;
});

t.test('a rotated token is read again when the old one is refused', async (t) => {
  let valid = 'Bearer first';
  const { kube, tokenFile, received } = await fakeApi(t, (request, response) => {
    if (request.headers.authorization === valid) json(response, 200, { metadata: {} });
    else json(response, 401, { code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
  });
  await kube.get(kinds.Namespace, 'x');
  writeFileSync(tokenFile, 'second');
  valid = 'Bearer second';
  t.ok(await kube.get(kinds.Namespace, 'x'), 'the refused call is tried again');
  t.equal(received.length, 3);
  valid = 'Bearer third';
  t.match(await kube.get(kinds.Namespace, 'x').catch((error: unknown) => error), { status: 401 });
  t.equal(received.length, 5, 'once');
});

t.test('a kubeconfig may name a file with the token', async (t) => {
  const { server, received } = await fakeApi(t, (request, response) =>
    json(response, request.headers.authorization === 'Bearer from a file' ? 200 : 401, { metadata: {} }),
  );
  const { port } = server.address() as AddressInfo;
  const folder = t.testdir({
    token: 'from a file\n',
    kubeconfig: JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { tokenFile: 'token' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  });
  const kube = await connectKube({ kubeconfig: join(folder, 'kubeconfig') });
  t.teardown(() => kube.close());
  t.ok(await kube.get(kinds.Namespace, 'x'));
  t.same(received, ['GET /api/v1/namespaces/x']);
});

t.test('a pod signs in with its service account, and trusts only its certificate authority', async (t) => {
  const names = { names: ['localhost'], addresses: ['127.0.0.1'] };
  const [own, other] = ['own', 'other'].map((name) => selfSignedCertificate(name, names, new Date()));
  const server = createHttpsServer({ key: own?.key, cert: own?.certificate }, (request, response) =>
    json(response, request.headers.authorization === 'Bearer of the account' ? 200 : 401, { metadata: {} }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const folder = t.testdir({ token: 'of the account\n', 'ca.crt': own?.certificate ?? '' });
  const account = { folder, host: '127.0.0.1', port: String(port) };
  const before = await connectKube({ account });
  const after = await connectKube({ account });
  t.teardown(async () => {
    await before.close();
    await after.close();
    server.closeAllConnections();
    server.close();
  });
  t.ok(await before.get(kinds.Namespace, 'x'));
  writeFileSync(join(folder, 'ca.crt'), other?.certificate ?? '');
  await t.rejects(after.get(kinds.Namespace, 'x'), /certificate/);
});

t.test('the real API server', { skip: noCluster }, async (t) => {
  const { kube, namespace } = await testCluster(t);
  const map = (name: string, data: Record<string, string>) => ({
    ...configMap(name, data),
    metadata: { name, namespace, labels: { app: 'x' } },
  });
  const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'one' };

  await t.test('creates, reads, replaces, patches and deletes, each against the version that was read', async (t) => {
    const created = await kube.create(map('one', { a: '1' }));
    t.match(await kube.create(map('one', {})).catch((error: unknown) => error), {
      status: 409,
      reason: 'AlreadyExists',
    });
    const replaced = await kube.replace({ ...created, data: { a: '2' } });
    t.match(await kube.replace({ ...created, data: {} }).catch((error: unknown) => error), {
      status: 409,
      reason: 'Conflict',
    });
    t.match(await kube.mergePatch(ref, { data: { a: null, b: '3' } }), { data: { b: '3' } });
    const stale = { metadata: { resourceVersion: replaced.metadata.resourceVersion }, data: { c: '4' } };
    t.match(await kube.mergePatch(ref, stale).catch((error: unknown) => error), { status: 409 });
    t.same((await kube.get<typeof created>(kinds.ConfigMap, 'one', namespace))?.data, { b: '3' });
    const other = { preconditions: { uid: '0190a0a0-0000-7000-8000-000000000001' } };
    t.match(await kube.delete(ref, other).catch((error: unknown) => error), { status: 409 });
    t.equal(await kube.delete(ref, { preconditions: { uid: created.metadata.uid } }), true);
    t.equal(await kube.delete(ref), false);
    t.equal(await kube.get(kinds.ConfigMap, 'one', namespace), undefined);
  });

  await t.test('an informer sees changes in order', async (t) => {
    const selection = { namespace, labelSelector: 'app=x' };
    await kube.create(map('before', {}));
    const informer = createInformer({ kube, kind: kinds.ConfigMap, selection, clock: systemClock, log: silentLog });
    t.teardown(() => informer.stop());
    const received: string[] = [];
    const done = new Promise<void>((resolve) => {
      informer.onChange(({ type, object }) => {
        received.push(`${type} ${object.metadata.name}`);
        if (type === 'deleted') resolve();
      });
    });
    informer.start();
    await informer.whenSynced();
    const one = await kube.create(map('one', {}));
    await kube.replace({ ...one, data: { a: '1' } });
    await kube.delete(ref);
    await done;
    t.same(received, ['added before', 'added one', 'modified one', 'deleted one']);
    t.same(
      informer.list().map(({ metadata }) => metadata.name),
      ['before'],
    );
  });

  await t.test('a watch that the API server refuses is an error of the API, not of the connection', async (t) => {
    const watching = (async () => {
      const selection = { namespace, resourceVersion: 'none' };
      for await (const _event of kube.watch(kinds.ConfigMap, selection, AbortSignal.timeout(20_000))) break;
    })();
    t.ok(isKubeError(await watching.catch((thrown: unknown) => thrown)));
  });

  await t.test('a Deployment is scaled against the version that was read', async (t) => {
    const labels = { app: 'scaled' };
    await kube.create<KubeObject>({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'scaled', namespace },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'example.invalid/none:1' }] } },
      },
    });
    const scale = await kube.getScale(namespace, 'scaled');
    t.match(scale, { replicas: 0, currentReplicas: 0 });
    if (!scale) return;
    await kube.mergePatch(
      { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name: 'scaled' },
      { metadata: { labels: { touched: 'yes' } } },
    );
    t.match(await kube.replaceScale(scale, 1).catch((error: unknown) => error), { status: 409 });
    // The Deployment's controller writes its status before the next call, which is a newer version again.
    const scaled = await eventually(
      async () => {
        const fresh = await kube.getScale(namespace, 'scaled');
        if (!fresh) throw new Error('the Deployment is gone');
        return kube.replaceScale(fresh, 0).catch((error: unknown) => error);
      },
      (error) => !isKubeError(error, 409),
    );
    t.equal(scaled, undefined);
  });

  t.match(await text(kube.stream('/readyz', AbortSignal.timeout(30_000))), 'ok');
});
