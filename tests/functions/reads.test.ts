import t, { type Test } from 'tap';
import { accessToken } from '../support/access-tokens.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { platformConfigObject } from '../support/objects.ts';
import { signedIn } from '../support/people.ts';
import { testDatabase } from '../support/postgres.ts';
import { declaredRoutes } from './all-routes.ts';
import { readReplica } from './read-replicas.ts';
import { testObject, testProject } from './watch/rig.ts';

/* Lists and reads from the copies that each replica keeps (docs/decisions/0091-reads-from-copies.md). */

const storageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
};
const volumes = '/api/v1/projects/shop/volumes';

async function setUp(t: Test) {
  const kube = fakeKube();
  const shop = testProject('shop');
  kube.seed(platformConfigObject, storageClass, shop.object, volume('old'));
  const { pool } = await testDatabase(t);
  const [first, second] = [await readReplica(t, { kube, pool }), await readReplica(t, { kube, pool })];
  for (const replica of [first, second]) await replica.synced();
  const admin = await signedIn(pool, 'admin', { projects: { [shop.id]: 'admin' } });
  const viewer = await signedIn(pool, 'viewer', { projects: { [shop.id]: 'viewer' } });
  const requests = async (work: () => Promise<unknown>) => {
    const before = kube.calls.length;
    await work();
    return kube.calls.slice(before).map(({ verb, kind }) => `${verb} ${kind}`);
  };
  return { kube, shop, pool, first, second, admin, viewer, requests };
}

/** A volume in the namespace of the project. */
function volume(name: string) {
  const object = testObject('Volume', name, 'shop-prod');
  return { ...object, spec: { size: '1Gi', accessMode: 'ReadWriteOnce' } };
}

const namesIn = (answer: { body: { items: { name: string }[] } }) => answer.body.items.map(({ name }) => name).sort();

t.test('reads cause no request to the API server for the objects of the platform', async (t) => {
  const { first, viewer, requests } = await setUp(t);
  const { headers } = viewer;
  for (const [path, ...expected] of [
    ['projects'],
    ['projects/shop'],
    ['projects/shop/environments'],
    ['projects/shop/functions'],
    ['functions'],
    // Who mounts a volume: pods are not copied.
    ['projects/shop/volumes', 'list Pod'],
    ['projects/shop/volumes/old', 'list Pod'],
  ] as const) {
    const sent = await requests(async () => {
      t.equal((await first.api.call('GET', `/api/v1/${path}`, { headers })).status, 200, path);
    });
    t.same(sent, expected, path);
  }
});

t.test('a list says which version it is from', async (t) => {
  const { kube, first, viewer } = await setUp(t);
  const { headers } = viewer;
  const before = await first.api.call('GET', volumes, { headers });
  kube.seed(volume('new'));
  await first.synced();
  const after = await first.api.call('GET', volumes, { headers });
  t.same(namesIn(after), ['new', 'old']);
  t.ok(Number(after.headers.get('x-svc-version')) > Number(before.headers.get('x-svc-version')));
});

t.test('users read their own changes from every replica, whatever its copies know', async (t) => {
  const { first, second, admin } = await setUp(t);
  const { headers } = admin;
  first.hold();
  second.hold();
  const created = await first.api.call('POST', volumes, { headers, body: { name: 'data', size: '1Gi' } });
  t.equal(created.status, 201);
  for (const { api } of [first, second]) {
    t.same(namesIn(await api.call('GET', volumes, { headers })), ['data', 'old']);
  }
  const deleted = await second.api.call('DELETE', `${volumes}/old`, { headers });
  t.equal(deleted.status, 204);
  for (const { api } of [first, second]) {
    t.same(namesIn(await api.call('GET', volumes, { headers })), ['data']);
    t.equal((await api.call('GET', `${volumes}/old`, { headers })).status, 404);
  }
  await second.api.call('POST', '/api/v1/projects', { headers, body: { name: 'blog' } });
  t.same(namesIn(await first.api.call('GET', '/api/v1/projects', { headers })), ['blog', 'shop']);
});

t.test('so do their access tokens', async (t) => {
  const { pool, shop, first, second, admin } = await setUp(t);
  const { headers } = await accessToken(pool, admin, { projectId: shop.id, scopes: ['read', 'write'] });
  second.hold();
  const body = { name: 'data', size: '1Gi' };
  t.equal((await first.api.call('POST', volumes, { headers, body })).status, 201);
  t.same(namesIn(await second.api.call('GET', volumes, { headers })), ['data', 'old']);
});

t.test('others read from the copy, which follows', async (t) => {
  const { pool, first, second, admin, viewer, requests } = await setUp(t);
  second.hold();
  await first.api.call('POST', volumes, { headers: admin.headers, body: { name: 'data', size: '1Gi' } });
  t.same(namesIn(await second.api.call('GET', volumes, { headers: viewer.headers })), ['old']);
  second.resume();
  await second.synced();
  t.same(namesIn(await second.api.call('GET', volumes, { headers: viewer.headers })), ['data', 'old']);
  const read = () => second.api.call('GET', '/api/v1/projects', { headers: admin.headers });
  t.same(await requests(read), ['list Project', 'get PlatformConfig']);
  await pool.query(`UPDATE audit_entries SET at = at - interval '10 seconds'`);
  t.same(await requests(read), [], 'ten seconds later');
});

t.test('a refused change leaves the reads as they are', async (t) => {
  const { first, viewer, requests } = await setUp(t);
  const { headers } = viewer;
  t.equal((await first.api.call('DELETE', `${volumes}/old`, { headers })).status, 403);
  t.same(await requests(() => first.api.call('GET', '/api/v1/projects', { headers })), []);
});

/** They change no object of the cluster. */
const withoutObjects = [
  'POST /projects/:project/assistant/conversations',
  'DELETE /projects/:project/assistant/conversations/:conversation',
  'DELETE /session',
  'POST /projects/:project/sources/missing',
  'POST /projects/:project/sources/chunks',
];

t.test('every route that changes an object leaves an audit entry, from which other replicas know', async (t) => {
  const { routes } = await declaredRoutes();
  const silent = routes
    .filter(({ method, access, audit }) => method !== 'GET' && audit === undefined && access !== 'webhook')
    .filter(({ access }) => access !== 'public')
    .map(({ method, path }) => `${method} ${path}`);
  t.same(silent.sort(), withoutObjects.sort());
});
