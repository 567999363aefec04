import t from 'tap';
import type { KubeObject, Stored } from '../../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { isKubeError, type KubeClient, type Selection, type WatchEvent } from '../../../../runtime/kube/kube-client.ts';
import { startApi } from '../../../support/local-api.ts';

const configMap = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', labels },
});
const ref = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name });
const label = (kube: KubeClient, name: string, app: string | null) =>
  kube.mergePatch(ref(name), { metadata: { labels: { app } } });

/** Collects `count` events. */
async function events(
  kube: KubeClient,
  selection: Selection & { resourceVersion: string },
  count: number,
): Promise<WatchEvent<KubeObject>[]> {
  const stop = new AbortController();
  const received: WatchEvent<KubeObject>[] = [];
  try {
    for await (const event of kube.watch(kinds.ConfigMap, selection, stop.signal)) {
      received.push(event);
      if (received.length === count) stop.abort(new Error('enough'));
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
  return received;
}

const summary = ({ type, object }: WatchEvent<KubeObject>) => `${type} ${object.metadata.name}`;

t.test('a watch sends the changes since a version, in order, and continues', async (t) => {
  const { kube } = await startApi(t);
  const { resourceVersion } = await kube.list(kinds.ConfigMap, { namespace: 'default' });
  await kube.create(configMap('a'));
  await kube.create(configMap('b'));
  const watched = events(kube, { namespace: 'default', resourceVersion }, 5);
  await label(kube, 'a', 'x');
  await kube.delete(ref('b'));
  await kube.create(configMap('b'));
  const received = await watched;
  t.same(received.map(summary), ['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b', 'ADDED b']);
  const versions = received.map(({ object }) => Number(object.metadata.resourceVersion));
  t.same(
    versions,
    versions.toSorted((a, b) => a - b),
  );
  const middle = received[2]?.object.metadata.resourceVersion ?? '';
  const rest = await events(kube, { namespace: 'default', resourceVersion: middle }, 2);
  t.same(rest.map(summary), ['DELETED b', 'ADDED b'], 'nothing twice');
});

t.test('an object enters and leaves a watch with its selector', async (t) => {
  const { kube } = await startApi(t);
  const { resourceVersion } = await kube.list(kinds.ConfigMap);
  const watched = events(kube, { labelSelector: 'app=x', resourceVersion }, 5);
  const created = await kube.create(configMap('a'));
  await label(kube, 'a', 'x');
  await kube.mergePatch(ref('a'), { data: { a: '1' } });
  const left = await label(kube, 'a', 'y');
  await label(kube, 'a', 'x');
  await kube.delete(ref('a'), { preconditions: { uid: created.metadata.uid } });
  const received = await watched;
  t.same(received.map(summary), ['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a', 'DELETED a']);
  t.match(received[2]?.object, { metadata: { labels: { app: 'x' }, resourceVersion: left.metadata.resourceVersion } });
});

t.test('without a version a watch begins with the current objects', async (t) => {
  const { kube } = await startApi(t);
  await kube.create(configMap('a', { app: 'x' }));
  await kube.create(configMap('b'));
  const received = await events(kube, { labelSelector: 'app=x', resourceVersion: '0' }, 1);
  t.same(received.map(summary), ['ADDED a']);
});

t.test('an expired version is refused, and so is a future one', async (t) => {
  const { kube } = await startApi(t, { history: 4 });
  const { resourceVersion } = await kube.list(kinds.ConfigMap);
  for (let index = 0; index < 10; index++) await kube.create(configMap(`c${index}`));
  const old = await events(kube, { resourceVersion }, 1).catch((error: unknown) => error);
  t.ok(isKubeError(old, 410), 'the client lists again');
  const newest = (await kube.list(kinds.ConfigMap)).resourceVersion;
  const future = await events(kube, { resourceVersion: String(Number(newest) + 10) }, 1).catch(
    (error: unknown) => error,
  );
  t.ok(isKubeError(future, 504));
});

t.test('bookmarks advance a quiet watch, also past changes of other objects', async (t) => {
  const { kube } = await startApi(t, { bookmarkMs: 20 });
  const { resourceVersion } = await kube.list(kinds.ConfigMap, { labelSelector: 'app=x' });
  const other = await kube.create(configMap('other'));
  const stop = new AbortController();
  let marked: string | undefined;
  for await (const { type, object } of kube.watch(
    kinds.ConfigMap,
    { labelSelector: 'app=x', resourceVersion },
    stop.signal,
  )) {
    t.equal(type, 'BOOKMARK');
    marked = object.metadata.resourceVersion;
    break;
  }
  t.ok(Number(marked) >= Number(other.metadata.resourceVersion));
});

t.test('a watch ends at its time-out, with a bookmark, and when the server stops', async (t) => {
  const { server, ask, kube } = await startApi(t);
  const { body } = await ask(
    'GET',
    '/api/v1/configmaps?watch=1&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=0.1',
  );
  t.match(String(body).trim().split('\n').at(-1), /"type":"BOOKMARK"/);
  const stop = new AbortController();
  const watching = (async () => {
    for await (const _event of kube.watch(kinds.ConfigMap, { resourceVersion: '0' }, stop.signal)) void server.stop();
  })();
  await t.resolves(watching.catch(() => undefined));
});

t.test('all pages of a list are from one version', async (t) => {
  const { kube, ask } = await startApi(t);
  for (const name of ['a', 'b', 'c', 'd', 'e']) await kube.create(configMap(name, { app: 'x' }));
  const path = '/api/v1/namespaces/default/configmaps?labelSelector=app&limit=2';
  const first = await ask('GET', path);
  await kube.delete(ref('d'));
  await kube.create(configMap('bb', { app: 'x' }));
  const second = await ask('GET', `${path}&continue=${String(first.body.metadata.continue)}`);
  const third = await ask('GET', `${path}&continue=${String(second.body.metadata.continue)}`);
  const names = [first, second, third].flatMap(({ body }) =>
    (body.items as Stored<KubeObject>[]).map((item) => item.metadata.name),
  );
  t.same(names, ['a', 'b', 'c', 'd', 'e']);
  t.equal(third.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
  t.equal(third.body.metadata.continue, undefined);
  const unknown = Buffer.from('00000000-0000-0000-0000-000000000000 2').toString('base64url');
  t.match(await ask('GET', `${path}&continue=${unknown}`), { status: 410, body: { reason: 'Expired' } });
});
