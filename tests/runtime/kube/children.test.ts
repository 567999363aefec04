import t from 'tap';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import {
  applyObject,
  canonical,
  ChildError,
  deleteChild,
  ensureChild,
  ensureChildObject,
  ForeignObjectError,
  NotYetError,
  refOf,
} from '../../../runtime/kube/children.ts';
import { includesDesired } from '../../../runtime/kube/covers.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';

interface Deployment extends KubeObject {
  spec: { replicas: number; template?: { env?: string[]; image?: string } };
}

const deployment = (spec: Deployment['spec']): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'api', namespace: 'shop-prod', labels: { app: 'api' } },
  spec,
});
const read = async (kube: FakeKube) => {
  const live = await kube.get<Deployment>(kinds.Deployment, 'api', 'shop-prod');
  if (!live) throw new Error('no deployment');
  return live;
};

async function appIn(kube: FakeKube, uid = 'app-uid'): Promise<Stored<KubeObject>> {
  kube.seed({ apiVersion: 'platform.svc/v1', kind: 'App', metadata: { name: 'api', namespace: 'shop-prod', uid } });
  const app = await kube.get(kinds.App, 'api', 'shop-prod');
  if (!app) throw new Error('no app');
  return app;
}

t.test('a live value covers the desired one if it contains all of its fields', async (t) => {
  const cases: [live: unknown, wanted: unknown, same: boolean][] = [
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 2 }, false],
    [{ a: 1 }, { b: 1 }, false],
    [{ a: { b: 1, added: true } }, { a: { b: 1 } }, true],
    [{ list: [{ name: 'x', added: 1 }] }, { list: [{ name: 'x' }] }, true],
    [{ list: [{ name: 'x' }, { name: 'y' }] }, { list: [{ name: 'x' }] }, false],
    [{ list: [1, 2] }, { list: [2, 1] }, false],
    [{}, { empty: {}, none: [], nothing: null }, true],
    [{}, { flag: false }, false],
    [{ list: [] }, { list: {} }, false],
    [{ a: 'x' }, { a: { b: 1 } }, false],
    [{ a: [1] }, { a: { 0: 1 } }, false],
    [{ a: '80' }, { a: 80 }, false],
    [{ a: null }, { a: 1 }, false],
    [{ a: 1 }, { a: undefined }, true],
  ];
  for (const [live, desired, same] of cases) {
    t.equal(includesDesired(live, desired), same, `${JSON.stringify(live)} covers ${JSON.stringify(desired)}`);
  }
});

t.test('a child is created with the label and owner, and an unchanged one is not written', async (t) => {
  const kube = fakeKube();
  const app = await appIn(kube);
  t.equal(await ensureChild(kube, app, deployment({ replicas: 2 })), 'created');
  const live = await read(kube);
  t.match(live.metadata, {
    labels: { app: 'api', 'app.kubernetes.io/managed-by': 'kipper' },
    ownerReferences: [{ kind: 'App', name: 'api', uid: 'app-uid', controller: true, blockOwnerDeletion: true }],
  });
  // As the API server fills in defaults.
  await kube.replace({ ...live, spec: { ...live.spec, revisionHistoryLimit: 10 } } as typeof live);
  const before = kube.calls.length;
  t.equal(await ensureChild(kube, app, deployment({ replicas: 2 })), 'unchanged');
  t.same(
    kube.calls.slice(before).map(({ verb }) => verb),
    ['get'],
  );
});

t.test('a difference is written over the version that was read, and fields of others are kept', async (t) => {
  const kube = fakeKube();
  const app = await appIn(kube);
  await ensureChild(kube, app, deployment({ replicas: 2, template: { env: ['A'], image: 'x:1' } }));
  const live = await read(kube);
  await kube.replace({
    ...live,
    metadata: {
      ...live.metadata,
      labels: { ...live.metadata.labels, team: 'blue' },
      annotations: { ...live.metadata.annotations, 'deployment.kubernetes.io/revision': '3' },
      finalizers: ['example.com/hold'],
      ownerReferences: [
        ...(live.metadata.ownerReferences ?? []),
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'c' },
      ],
    },
    spec: { ...live.spec, replicas: 5 },
  });
  t.equal(await ensureChild(kube, app, deployment({ replicas: 2, template: { env: ['A'], image: 'x:1' } })), 'updated');
  const after = await read(kube);
  t.equal(after.spec.replicas, 2);
  t.match(after.metadata, {
    labels: { team: 'blue', app: 'api' },
    annotations: { 'deployment.kubernetes.io/revision': '3' },
    finalizers: ['example.com/hold'],
  });
  t.same(after.metadata.ownerReferences?.map(({ uid }) => uid).sort(), ['app-uid', 'c']);
  t.equal(
    await ensureChild(kube, app, deployment({ replicas: 2, template: { env: ['A'], image: 'x:1' } })),
    'unchanged',
  );
});

t.test('a field that is no longer desired is removed', async (t) => {
  const kube = fakeKube();
  const app = await appIn(kube);
  await ensureChild(kube, app, deployment({ replicas: 1, template: { env: ['A'], image: 'x:1' } }));
  t.equal(await ensureChild(kube, app, deployment({ replicas: 1, template: { image: 'x:1' } })), 'updated');
  t.same((await read(kube)).spec, { replicas: 1, template: { image: 'x:1' } });
});

t.test('fields that other controllers set are kept', async (t) => {
  const kube = fakeKube();
  const app = await appIn(kube);
  const keep = (live: Stored<Deployment>, desired: Deployment) => ({
    ...desired,
    spec: { ...desired.spec, replicas: live.spec.replicas },
  });
  await ensureChild(kube, app, deployment({ replicas: 0 }), { keep });
  const live = await read(kube);
  await kube.replace({ ...live, spec: { replicas: 7 } });
  t.equal(await ensureChild(kube, app, deployment({ replicas: 0 }), { keep }), 'unchanged');
  t.equal(await ensureChild(kube, app, deployment({ replicas: 0, template: { image: 'x:2' } }), { keep }), 'updated');
  t.same((await read(kube)).spec, { replicas: 7, template: { image: 'x:2' } });
});

t.test('fields that are sent on creation only are not noticed later', async (t) => {
  const kube = fakeKube();
  const app = await appIn(kube);
  const options = {
    initially: (desired: Deployment) => ({ ...desired, spec: { ...desired.spec, replicas: 2 } }),
    keep: ({ spec: { replicas } }: Deployment, desired: Deployment) => ({
      ...desired,
      spec: { ...desired.spec, replicas },
    }),
  };
  const created = await ensureChildObject(kube, app, deployment({ replicas: 0 }), options);
  t.match(created, { outcome: 'created', object: { spec: { replicas: 2 }, metadata: { resourceVersion: /./ } } });
  t.equal(await ensureChild(kube, app, deployment({ replicas: 0 }), options), 'unchanged');
  const changed = deployment({ replicas: 0, template: { image: 'x:2' } });
  t.match(await ensureChildObject(kube, app, changed, options), {
    outcome: 'updated',
    object: { spec: { replicas: 2 } },
  });
});

t.test('a conflict is resolved by reading again', async (t) => {
  const kube = fakeKube();
  const app = await appIn(kube);
  await ensureChild(kube, app, deployment({ replicas: 1 }));
  let disturbed = false;
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace' || disturbed) return;
    disturbed = true;
    await kube.mergePatch(refOf(deployment({ replicas: 1 })), { metadata: { labels: { touched: 'yes' } } });
  };
  t.equal(await ensureChild(kube, app, deployment({ replicas: 3 })), 'updated');
  t.match(await read(kube), { spec: { replicas: 3 }, metadata: { labels: { touched: 'yes' } } });
});

t.test('a copy is written over without a read, and read once it is outdated', async (t) => {
  const server = fakeKube();
  const app = await appIn(server);
  const withCopy = (copy: Stored<KubeObject>) => {
    const kube = { ...server, cache: { get: () => copy as never, list: () => [copy] as never[] } };
    return (desired: Deployment) => ensureChild(kube, app, desired, { cached: true });
  };
  const callsOf = async (work: () => Promise<unknown>) => {
    const before = server.calls.length;
    await work();
    return server.calls.slice(before).map(({ verb }) => verb);
  };
  await ensureChild(server, app, deployment({ replicas: 1 }));
  const copy = await read(server);
  const ensure = withCopy(copy);
  t.same(await callsOf(() => ensure(deployment({ replicas: 2 }))), ['replace']);
  t.equal((await read(server)).spec.replicas, 2);
  const outdated = ['replace', 'get', 'replace'];
  t.same(await callsOf(() => ensure(deployment({ replicas: 3 }))), outdated, 'the copy is older than the last write');
  t.equal((await read(server)).spec.replicas, 3);
  await server.delete(refOf(copy));
  t.same(await callsOf(() => ensure(deployment({ replicas: 4 }))), ['replace', 'get', 'create'], 'it was deleted');
  t.equal((await read(server)).spec.replicas, 4);

  const foreign = { ...copy, metadata: { ...copy.metadata, labels: {} } };
  t.same(
    await callsOf(() => withCopy(foreign)(deployment({ replicas: 5 }))),
    ['get', 'replace'],
    'a copy of another owner',
  );
});

t.test('two concurrent creates of a child result in one', async (t) => {
  const kube = fakeKube();
  const app = await appIn(kube);
  const results = await Promise.all([
    ensureChild(kube, app, deployment({ replicas: 1 })),
    ensureChild(kube, app, deployment({ replicas: 1 })),
  ]);
  t.same(results.sort(), ['created', 'unchanged']);
});

t.test('a foreign object is named and not changed', async (t) => {
  const foreign: [string, KubeObject['metadata'], RegExp][] = [
    ['no label', {} as KubeObject['metadata'], /was not created by the platform/],
    [
      'another owner',
      {
        labels: managedLabels(),
        ownerReferences: [{ apiVersion: 'platform.svc/v1', kind: 'Function', name: 'api', uid: 'f', controller: true }],
      } as unknown as KubeObject['metadata'],
      /belongs to Function "api"/,
    ],
  ];
  for (const [name, metadata, message] of foreign) {
    const kube = fakeKube();
    const app = await appIn(kube);
    const object = deployment({ replicas: 9 });
    kube.seed({ ...object, metadata: { ...object.metadata, ...metadata, namespace: 'shop-prod', name: 'api' } });
    const before = await read(kube);
    const error = await ensureChild(kube, app, deployment({ replicas: 1 })).catch((thrown: unknown) => thrown);
    t.ok(error instanceof ForeignObjectError, name);
    t.match((error as Error).message, message);
    t.match((error as Error).message, /Deployment "api" in shop-prod/);
    t.equal(await deleteChild(kube, app, refOf(object)), true);
    t.same(await read(kube), before);
  }
});

t.test('children of a former object of the same name are waited for, not taken over', async (t) => {
  const kube = fakeKube();
  const former = await appIn(kube, 'former-uid');
  await ensureChild(kube, former, deployment({ replicas: 1 }));
  const app = { ...former, metadata: { ...former.metadata, uid: 'new-uid' } };
  await t.rejects(ensureChild(kube, app, deployment({ replicas: 1 })), NotYetError);
});

t.test('a refusal of the API server names the child; other failures are passed on', async (t) => {
  const kube = fakeKube();
  const app = await appIn(kube);
  const fail = (error: Error) => {
    kube.intercept = ({ verb }) => {
      if (verb === 'create') throw error;
    };
    return ensureChild(kube, app, deployment({ replicas: 1 })).catch((thrown: unknown) => thrown);
  };
  const refused = await fail(new KubeError(422, 'Invalid', 'spec.replicas: must not be odd'));
  t.ok(refused instanceof ChildError);
  t.match((refused as Error).message, /Deployment "api" was refused by the API server: spec.replicas/);
  for (const error of [
    new KubeError(503, 'ServiceUnavailable', 'down'),
    new KubeError(403, 'NamespaceTerminating', 'because it is being terminated'),
    new Error('ECONNRESET'),
  ]) {
    t.equal(await fail(error), error);
  }
});

t.test('a child is deleted by its uid, and its deletion can be awaited', async (t) => {
  const kube = fakeKube();
  const app = await appIn(kube);
  const object = deployment({ replicas: 1 });
  t.equal(await deleteChild(kube, app, refOf(object)), true, 'there is none');
  await ensureChild(kube, app, object);
  const live = await read(kube);
  await kube.replace({ ...live, metadata: { ...live.metadata, finalizers: ['example.com/hold'] } });
  t.equal(await deleteChild(kube, app, refOf(object)), false);
  t.equal(await deleteChild(kube, app, refOf(object)), false);
  const held = await read(kube);
  await kube.replace({ ...held, metadata: { ...held.metadata, finalizers: [] } });
  t.equal(await deleteChild(kube, app, refOf(object)), true);
});

t.test('an object can be applied without an owner', async (t) => {
  const kube = fakeKube();
  const config: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'svc-system' } };
  t.equal(await applyObject(kube, config), 'created');
  t.equal(await applyObject(kube, config), 'unchanged');
  t.equal((await kube.get(kinds.ConfigMap, 'c', 'svc-system'))?.metadata.ownerReferences, undefined);
});

t.test('canonical JSON has its keys in order and no undefined fields', async (t) => {
  const value = { b: [1, { z: null, a: 'ä"' }], a: undefined, 'a-b': { d: true, c: [] }, B: {} };
  t.equal(canonical(value), '{"B":{},"a-b":{"c":[],"d":true},"b":[1,{"a":"ä\\"","z":null}]}');
  t.same(JSON.parse(canonical(value)), JSON.parse(JSON.stringify(value)));
});
