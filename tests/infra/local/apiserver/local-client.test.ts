import t from 'tap';
import type { KubeObject, Stored } from '../../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { isKubeError, type KubeClient } from '../../../../runtime/kube/kube-client.ts';
import { startApi } from '../../../support/local-api.ts';

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

const ref = (kind: { apiVersion: string; kind: string }, namespace: string, name: string) => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  namespace,
  name,
});
const configMap = (namespace: string, name: string, data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { app: name } },
  data,
});
const deployment = (namespace: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'api', namespace },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'api' } },
    template: { metadata: { labels: { app: 'api' } }, spec: { containers: [{ name: 'api', image: 'a:1' }] } },
  },
});

/** One use of a client in a namespace of its own. */
type Use = (kube: KubeClient, namespace: string) => Promise<unknown>;

const live = async (kube: KubeClient, namespace: string, name = 'one'): Promise<Stored<ConfigMap>> => {
  const object = await kube.get<ConfigMap>(kinds.ConfigMap, name, namespace);
  if (!object) throw new Error(`there is no ${name}`);
  return object;
};

/** In this order, on the same objects. */
const uses: Readonly<Record<string, Use>> = {
  create: (kube, namespace) => kube.create(configMap(namespace, 'one', { a: '1' })),
  'create again': (kube, namespace) => kube.create(configMap(namespace, 'one')),
  'create another': (kube, namespace) => kube.create(configMap(namespace, 'two')),
  'create with a wrong name': (kube, namespace) => kube.create(configMap(namespace, 'Not_A_Name')),
  'create in a missing namespace': (kube) => kube.create(configMap('missing', 'one')),
  'create with a field of a wrong type': (kube, namespace) =>
    kube.create({ ...configMap(namespace, 'three'), data: 'text' } as unknown as ConfigMap),
  get: live,
  'get what is missing': (kube, namespace) => kube.get(kinds.ConfigMap, 'missing', namespace),
  'get by a path': (kube, namespace) => kube.get(kinds.ConfigMap, 'one/status', namespace),
  'get without a namespace': (kube) => kube.get(kinds.ConfigMap, 'one'),
  'get a kind that is not served': (kube, namespace) => kube.get(kinds.Ingress, 'one', namespace),
  'list a kind that is not served': (kube, namespace) => kube.list(kinds.Ingress, { namespace }),
  'list by label': (kube, namespace) => kube.list(kinds.ConfigMap, { namespace, labelSelector: 'app in (two)' }),
  'list by field': (kube, namespace) => kube.list(kinds.ConfigMap, { namespace, fieldSelector: 'metadata.name=one' }),
  'list with a wrong selector': (kube, namespace) => kube.list(kinds.ConfigMap, { namespace, labelSelector: 'a=b=c' }),
  replace: async (kube, namespace) => kube.replace({ ...(await live(kube, namespace)), data: { a: '2' } }),
  'replace without a change': async (kube, namespace) => kube.replace(await live(kube, namespace)),
  'replace an old version': async (kube, namespace) => {
    const object = await live(kube, namespace);
    await kube.replace({ ...object, data: { a: '3' } });
    return kube.replace({ ...object, data: { a: '4' } });
  },
  'replace what is missing': async (kube, namespace) => {
    const object = await live(kube, namespace);
    return kube.replace({ ...object, metadata: { ...object.metadata, name: 'missing' } });
  },
  patch: (kube, namespace) => kube.mergePatch(ref(kinds.ConfigMap, namespace, 'one'), { data: { a: null, b: '1' } }),
  'patch with a list': (kube, namespace) => kube.mergePatch(ref(kinds.ConfigMap, namespace, 'one'), []),
  'patch what is missing': (kube, namespace) => kube.mergePatch(ref(kinds.ConfigMap, namespace, 'missing'), {}),
  'create a deployment': (kube, namespace) => kube.create(deployment(namespace)),
  'replace its status': async (kube, namespace) => {
    const object = await kube.get<KubeObject>(kinds.Deployment, 'api', namespace);
    if (!object) throw new Error('there is no deployment');
    return kube.replaceStatus({ ...object, spec: {}, status: { replicas: 1, observedGeneration: 1 } });
  },
  'patch its status': (kube, namespace) =>
    kube.mergePatch(ref(kinds.Deployment, namespace, 'api'), { status: { readyReplicas: 1 } }, 'status'),
  'get its scale': (kube, namespace) => kube.getScale(namespace, 'api'),
  'get a scale that is missing': (kube, namespace) => kube.getScale(namespace, 'missing'),
  'scale it': async (kube, namespace) => {
    const scale = await kube.getScale(namespace, 'api');
    if (!scale) throw new Error('there is no scale');
    await kube.replaceScale(scale, 0);
    return kube.getScale(namespace, 'api');
  },
  'scale an old version': async (kube, namespace) => {
    const scale = await kube.getScale(namespace, 'api');
    if (!scale) throw new Error('there is no scale');
    await kube.replaceScale(scale, 3);
    await kube.replaceScale(scale, 4);
  },
  'delete another version': (kube, namespace) =>
    kube.delete(ref(kinds.ConfigMap, namespace, 'one'), { preconditions: { resourceVersion: '1' } }),
  delete: (kube, namespace) => kube.delete(ref(kinds.ConfigMap, namespace, 'one')),
  'delete again': (kube, namespace) => kube.delete(ref(kinds.ConfigMap, namespace, 'one')),
  'delete in the foreground': (kube, namespace) =>
    kube.delete(ref(kinds.Deployment, namespace, 'api'), { propagationPolicy: 'Foreground' }),
};

/** Without what differs between two namespaces: names of namespaces, ids, versions and times. */
function comparable(value: unknown, namespace: string): unknown {
  const text = JSON.stringify(value, (key, inner: unknown) =>
    ['uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp'].includes(key) ? typeof inner : inner,
  );
  return text === undefined ? undefined : JSON.parse(text.replaceAll(namespace, 'namespace'));
}

async function outcome(use: Use, kube: KubeClient, namespace: string): Promise<unknown> {
  try {
    return { value: comparable(await use(kube, namespace), namespace) };
  } catch (error) {
    if (isKubeError(error)) {
      const { status, reason, message } = error;
      // A message may quote the object's version.
      return comparable({ status, reason, message: message.replaceAll(/\d+/g, '0') }, namespace);
    }
    return comparable({ error: String(error) }, namespace);
  }
}

t.test('results and errors are the same as over HTTP', async (t) => {
  const { server, kube } = await startApi(t);
  for (const name of ['remote', 'here']) {
    await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  for (const [name, use] of Object.entries(uses)) {
    t.same(await outcome(use, server.client, 'here'), await outcome(use, kube, 'remote'), name);
  }
});

t.test('a watch has the same events as over HTTP, until it is aborted', async (t) => {
  const { server, kube } = await startApi(t);
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  const { resourceVersion } = await kube.list(kinds.ConfigMap);
  const ending = new AbortController();
  const reason = new Error('enough');
  const follow = async (client: KubeClient, from: string) => {
    const events: unknown[] = [];
    try {
      const selection = { namespace: 'shop', labelSelector: 'app=one', resourceVersion: from };
      for await (const { type, object } of client.watch<ConfigMap>(kinds.ConfigMap, selection, ending.signal)) {
        events.push([type, object]);
        if (object.data?.['last'] !== undefined) break;
      }
      return events;
    } catch (error) {
      return error;
    }
  };
  const both = (from: string) => Promise.all([server.client, kube].map((client) => follow(client, from)));
  const before = both(resourceVersion);
  await server.client.create(configMap('shop', 'one', { a: '1' }));
  await kube.create(configMap('shop', 'two'));
  const entering = await live(kube, 'shop', 'two');
  const entered = await kube.replace({ ...entering, metadata: { ...entering.metadata, labels: { app: 'one' } } });
  await server.client.replace({ ...entered, metadata: { ...entered.metadata, labels: {} } });
  await server.client.delete(ref(kinds.ConfigMap, 'shop', 'one'));
  await kube.create(configMap('shop', 'one', { last: '' }));
  const [here, remote] = await before;
  t.same(here, remote);
  t.equal((here as unknown[]).length, 5);
  const [again, remoteAgain] = await both(resourceVersion);
  t.same(again, remoteAgain, 'from an earlier version');
  t.same(again, here);
  const current = await both('0');
  t.same(current[0], current[1], 'with the current objects');

  const silent = both((await kube.list(kinds.ConfigMap)).resourceVersion);
  ending.abort(reason);
  t.same(await silent, [reason, reason]);
});

t.test('a version that is no longer stored ends a watch with 410', async (t) => {
  const { server, kube } = await startApi(t, { history: 4 });
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  for (let number = 0; number < 10; number++) await server.client.create(configMap('shop', `c${number}`));
  for (const client of [server.client, kube]) {
    const events = client.watch(kinds.ConfigMap, { resourceVersion: '2' }, new AbortController().signal);
    const next = events[Symbol.asyncIterator]().next();
    t.ok(
      await next.then(
        () => false,
        (error: unknown) => isKubeError(error, 410),
      ),
    );
  }
});

t.test('a list by label has the objects that have it now', async (t) => {
  const { server } = await startApi(t);
  const { client } = server;
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop-b' } });
  const named = async (labelSelector: string, namespace?: string) => {
    const { items } = await client.list<ConfigMap>(kinds.ConfigMap, {
      labelSelector,
      ...(namespace !== undefined && { namespace }),
    });
    return items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  };
  t.same(await named('app=one'), []);
  for (const namespace of ['shop', 'shop-b'])
    for (const name of ['two', 'one']) await client.create(configMap(namespace, name));
  t.same(await named('app=one'), ['shop-b/one', 'shop/one'], 'in the order of etcd');
  t.same(await named('!other,app==one', 'shop'), ['shop/one']);
  t.same(await named('app=one,app=two'), []);
  t.same(await named('app,app!=one', 'shop'), ['shop/two']);
  const object = await live(client, 'shop');
  await client.replace({ ...object, metadata: { ...object.metadata, labels: { app: 'two' } } });
  t.same(await named('app=one'), ['shop-b/one']);
  t.same(await named('app=two', 'shop'), ['shop/one', 'shop/two']);
  await client.delete(ref(kinds.ConfigMap, 'shop', 'one'));
  t.same(await named('app=two', 'shop'), ['shop/two']);
  for (let number = 0; number < 30; number++) await named(`label${number}=x`);
  await client.mergePatch(ref(kinds.ConfigMap, 'shop', 'two'), { metadata: { labels: { late: 'x' } } });
  t.same(await named('late=x'), ['shop/two'], 'a label without an index');
});

t.test('callers and the server change no object of each other', async (t) => {
  const { server } = await startApi(t);
  const { client } = server;
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  const data = { a: '1' };
  const created = await client.create(configMap('shop', 'one', data));
  data.a = 'changed';
  if (created.data) created.data['a'] = 'changed';
  const listed = (await client.list<ConfigMap>(kinds.ConfigMap, { namespace: 'shop' })).items;
  for (const object of listed) delete object.data;
  t.same((await live(client, 'shop')).data, { a: '1' });
});

t.test('many calls do not keep requests of others waiting', async (t) => {
  const { server, kube } = await startApi(t);
  const { client } = server;
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  let calls = 0;
  const ending = new AbortController();
  const busy = async () => {
    for (; !ending.signal.aborted; calls++) await client.get(kinds.Namespace, 'shop');
  };
  const running = busy();
  t.ok(await kube.get(kinds.Namespace, 'shop'));
  ending.abort();
  await running;
  t.ok(calls > 0);
});
