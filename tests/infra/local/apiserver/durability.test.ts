import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import t from 'tap';
import { createDatabase } from '../../../../infra/local/apiserver/database.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { createKubeClient } from '../../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../../runtime/kube/kubeconfig.ts';
import { isKubeError } from '../../../../runtime/kube/kube-client.ts';
import { fakeClock } from '../../../support/clock.ts';
import { startApi } from '../../../support/local-api.ts';
import { ownFolder } from '../../../support/own-folder.ts';

const configMap = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', ...more },
});

t.test('every acknowledged write survives kill -9, and no other does', async (t) => {
  const dataDir = ownFolder(t);
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../../support/local-api-process.ts'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  await once(createInterface(child.stdout), 'line');
  const config = loadKubeConfig(join(dataDir, 'admin.kubeconfig'));
  const kube = createKubeClient(config);
  const answered = new Map<string, string>();
  const deleted = new Set<string>();
  const ended = once(child, 'exit');
  const writer = async (id: number) => {
    for (let index = 0; ; index++) {
      const name = `w${id}-${index}`;
      const { metadata } = await kube.create(configMap(name));
      answered.set(name, metadata.resourceVersion);
      if (index % 3 === 2) {
        const previousName = `w${id}-${index - 1}`;
        deleted.add(previousName);
        await kube.delete({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: previousName });
        answered.delete(previousName);
      }
      if (answered.size > 100) child.kill('SIGKILL');
    }
  };
  await Promise.all([1, 2, 3, 4].map((id) => writer(id).catch(() => undefined)));
  await ended;
  await kube.close();

  const again = await startApi(t, { dataDir });
  const { items, resourceVersion } = await again.kube.list(kinds.ConfigMap, { namespace: 'default' });
  const stored = new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
  for (const [name, version] of answered) {
    // Its deletion was in progress: either result is correct.
    if (!deleted.has(name) && stored.get(name) !== version) t.fail(`${name} is lost`);
  }
  const back = [...deleted].filter((name) => stored.has(name) && !answered.has(name));
  t.same(back, [], 'deleted objects stay deleted');
  t.ok(Number(resourceVersion) >= Math.max(...[...answered.values()].map(Number)), 'versions continue');
  const next = await again.kube.create(configMap('next'));
  t.ok(Number(next.metadata.resourceVersion) > Number(resourceVersion));
});

t.test('a restart keeps objects, keys and the address; older versions cannot be watched from', async (t) => {
  const first = await startApi(t);
  const old = await first.kube.create(configMap('before'));
  await first.kube.create(configMap('after'));
  await first.kube.delete({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'after' });
  const last = (await first.kube.list(kinds.ConfigMap)).resourceVersion;
  const { url } = first.server;
  const port = Number(new URL(url).port);
  await first.kube.close();
  await first.server.stop();
  const second = await startApi(t, { dataDir: first.dataDir, port });
  t.equal(second.server.url, url);
  t.equal(second.adminToken, first.adminToken);
  t.same(await second.kube.get(kinds.ConfigMap, 'before', 'default'), old);
  t.ok(Number((await second.kube.list(kinds.ConfigMap)).resourceVersion) >= Number(last), 'a deletion counts, too');
  const watching = async () => {
    const stop = AbortSignal.timeout(5_000);
    for await (const event of second.kube.watch(kinds.ConfigMap, old.metadata, stop)) return event;
    return undefined;
  };
  t.ok(isKubeError(await watching().catch((error: unknown) => error), 410));
});

t.test('a namespace that was being emptied when the server ended is emptied by the next', async (t) => {
  const first = await startApi(t);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'going' } };
  await first.kube.create(namespace);
  await first.kube.create({ ...configMap('held', { namespace: 'going', finalizers: ['example.com/hold'] }) });
  const ref = { apiVersion: 'v1', kind: 'Namespace', name: 'going' };
  await first.kube.delete(ref);
  const held = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'going', name: 'held' };
  t.match(await first.kube.get(kinds.Namespace, 'going'), { status: { phase: 'Terminating' } });
  const refused = await first.kube.create(configMap('late', { namespace: 'going' })).catch((error: unknown) => error);
  t.match(refused, { status: 403, reason: 'NamespaceTerminating' });
  await first.kube.close();
  await first.server.stop();

  const second = await startApi(t, { dataDir: first.dataDir });
  t.match(await second.kube.get(kinds.ConfigMap, 'held', 'going'), { metadata: { deletionTimestamp: String } });
  const { resourceVersion } = await second.kube.list(kinds.Namespace);
  const deletion = (async () => {
    const stop = AbortSignal.timeout(10_000);
    for await (const { type, object } of second.kube.watch(kinds.Namespace, { resourceVersion }, stop)) {
      if (type === 'DELETED') return object.metadata.name;
    }
    return undefined;
  })();
  await second.kube.mergePatch(held, { metadata: { finalizers: null } });
  t.equal(await deletion, 'going');
  t.equal(await second.kube.get(kinds.Namespace, 'going'), undefined);
  await second.kube.create(namespace);
  t.equal(
    (await second.kube.list(kinds.ConfigMap, { namespace: 'going' })).items.length,
    1,
    'only the root certificate',
  );
});

t.test('a namespace with more objects than are deleted at once is emptied', async (t) => {
  const { kube, server } = await startApi(t);
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'large' } });
  for (let number = 0; number < 250; number++) {
    await server.client.create(configMap(`c${number}`, { namespace: 'large' }));
  }
  const { resourceVersion } = await kube.list(kinds.Namespace);
  await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: 'large' });
  for await (const { type } of kube.watch(kinds.Namespace, { resourceVersion }, AbortSignal.timeout(30_000))) {
    if (type === 'DELETED') break;
  }
  t.same((await kube.list(kinds.ConfigMap, { namespace: 'large' })).items, []);
});

t.test('a namespace with only its deletion written is emptied after the next start', async (t) => {
  const first = await startApi(t);
  await first.kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'cut' } });
  await first.kube.create(configMap('inside', { namespace: 'cut' }));
  await first.kube.close();
  await first.server.stop();
  const database = createDatabase(join(first.dataDir, 'objects.db'));
  const { version, rows } = database.open();
  const row = rows.find(({ resource, key }) => resource === '/namespaces' && key === 'cut');
  const object = JSON.parse(row?.value ?? '{}') as { metadata: object };
  const value = { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  database.put({ resource: '/namespaces', key: 'cut', version: version + 1, value: JSON.stringify(value) });
  database.close();

  const second = await startApi(t, { dataDir: first.dataDir });
  const stop = AbortSignal.timeout(10_000);
  const waitUntilGone = async () => {
    const listed = await second.kube.list(kinds.Namespace);
    if (!listed.items.some(({ metadata }) => metadata.name === 'cut')) return;
    for await (const { type } of second.kube.watch(kinds.Namespace, listed, stop)) if (type === 'DELETED') return;
  };
  await waitUntilGone();
  t.equal(await second.kube.get(kinds.Namespace, 'cut'), undefined);
});

t.test('an event is kept for an hour after it was last seen', async (t) => {
  const clock = fakeClock();
  const { kube } = await startApi(t, { clock });
  const event = (name: string, lastTimestamp: string) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'default' },
    involvedObject: { kind: 'Pod', name: 'x', namespace: 'default' },
    lastTimestamp,
  });
  await kube.create(event('old', '2025-12-31T23:00:00Z'));
  await kube.create(event('again', '2026-01-01T00:30:00Z'));
  const names = async () => (await kube.list(kinds.Event)).items.map(({ metadata }) => metadata.name);
  t.same(await names(), ['again', 'old']);
  await clock.advance(66 * 60_000);
  t.same(await names(), ['again']);
  await clock.advance(31 * 60_000);
  t.same(await names(), []);
});

t.test('two servers never share a folder', async (t) => {
  const { dataDir } = await startApi(t);
  await t.rejects(startApi(t, { dataDir }), /Another API server/);
});
