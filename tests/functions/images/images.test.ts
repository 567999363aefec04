import t, { type Test } from 'tap';
import { createImageRoutes } from '../../../functions/images/handler.ts';
import { markWorkloadDeleted } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { buildRegistry, builtApp, digestOf } from '../../support/built-apps.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { environmentId, platformConfigObject, readyProject, settings } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const images = '/api/v1/projects/shop/images';

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const builds = { image: 'r/builder:1', registry: buildRegistry, baseImages: {} };
  kube.seed(
    { ...platformConfigObject, spec: { ...settings, builds } },
    ...readyProject('shop'),
    ...readyProject('blog'),
  );
  const api = await testApi(t, { routes: createImageRoutes({ pool, kube }) });
  const app = await builtApp(pool, { environmentId });
  const get = async (query = '') => (await api.call('GET', `${images}${query}`)).body;
  const work = async () => {
    const { rows } = await pool.query(`SELECT record_id FROM work WHERE kind = 'images' AND state = 'pending'`);
    return rows.length;
  };
  const call = (method: string, path: string, options?: { body: object }) => api.call(method, path, options);
  return { pool, kube, call, app, get, work };
}

t.test('the list shows what names each image, its size and whether it is used', async (t) => {
  const { pool, app, get } = await world(t);
  const first = await app.accept();
  const image = await app.built(first, digestOf(1), 1_234_567);
  await app.succeed(first);
  await app.release(digestOf(2));
  const staging = await builtApp(pool, { environment: 'staging' });
  await staging.release(digestOf('s'));
  const { items } = await get();
  t.match(items, [
    { digest: digestOf(2), app: 'web', inUse: true, usedBy: { revision: 2 }, status: 'stored' },
    {
      name: `web:${first}`,
      image,
      digest: digestOf(1),
      project: 'shop',
      environment: 'prod',
      revisions: [{ environment: 'prod', app: 'web', revision: 1 }],
      sizeBytes: 1_234_567,
      inUse: false,
      status: 'stored',
    },
  ]);
  t.equal(items.length, 2, 'only of this environment');
  t.notHas(items[0], 'sizeBytes');
  t.same((await get('?app=other')).items, []);
  const { items: page, nextCursor } = await get('?limit=1');
  t.match(page, [{ digest: digestOf(2) }]);
  t.match(await get(`?limit=1&cursor=${nextCursor}`), { items: [{ digest: digestOf(1) }], nextCursor: undefined });
});

t.test('an image that many revisions name has few of them in the list', async (t) => {
  const { app, get } = await world(t);
  await app.release(digestOf(1));
  await app.release(digestOf(2));
  for (let round = 0; round < 25; round++) await app.succeed((await app.rollBack(1)).id);
  const { items } = await get();
  t.match(items[1].revisions.map(({ revision }: { revision: number }) => revision).slice(0, 2), [27, 26]);
  t.equal(items[1].revisions.length, 20);
});

t.test('an image is found by its tag, full name, digest and id', async (t) => {
  const { app, call } = await world(t);
  const image = await app.release(digestOf(1));
  const name = image.slice(image.lastIndexOf('/') + 1);
  const { body } = await call('GET', `${images}/${encodeURIComponent(name)}`);
  for (const reference of [image, digestOf(1), `${image}@${digestOf(1)}`, body.id]) {
    t.match(
      await call('GET', `${images}/${encodeURIComponent(reference)}`),
      { status: 200, body: { name } },
      reference,
    );
  }
  for (const reference of ['web', 'web:other', 'other:1', '%', '..', digestOf(9), 'x'.repeat(600)]) {
    t.equal((await call('GET', `${images}/${encodeURIComponent(reference)}`)).status, 404, reference.slice(0, 80));
  }
});

t.test('202: a deletion is requested with its work; 409: an image in use', async (t) => {
  const { kube, app, call, work } = await world(t);
  const image = await app.release(digestOf(1));
  await app.release(digestOf(2));
  const url = (digest: string) => `${images}/${digest}`;
  t.match(await call('DELETE', url(digestOf(2))), {
    status: 409,
    body: { code: 'in_use', message: /revision 2 of web in prod/ },
  });
  const job = { apiVersion: 'platform.svc/v1', kind: 'Job', metadata: { name: 'nightly', namespace: 'shop-prod' } };
  kube.seed({ ...job, spec: { image } });
  t.match(await call('DELETE', url(digestOf(1))), { status: 409, body: { code: 'in_use', message: /job nightly/ } });
  t.equal(await work(), 0, 'a refused request leaves nothing behind');
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'Job', namespace: 'shop-prod', name: 'nightly' });
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-1', namespace: 'shop-prod', deletionTimestamp: '2026-01-01T00:00:00Z' },
    spec: { containers: [{ name: 'app', image }] },
  });
  t.match(
    await call('DELETE', url(digestOf(1))),
    { status: 202, body: { status: 'deleting' } },
    'a pod that is being stopped refuses nothing',
  );
  t.equal(await work(), 1);
  t.match(await call('DELETE', url(digestOf(1))), { status: 202 }, 'and again');
  t.equal(await work(), 1);
});

t.test('prune keeps the newest images, and shows them only with dryRun', async (t) => {
  const { pool, app, call, get, work } = await world(t);
  for (let number = 1; number <= 5; number++) await app.release(digestOf(number));
  const old = await builtApp(pool, { name: 'old', environmentId });
  await old.release(digestOf('o'));
  await markWorkloadDeleted(pool, old.id);
  const prune = async (body: object) => {
    const { status, body: answer } = await call('POST', `${images}/prune`, { body });
    return { status, keep: answer.keep, digests: answer.images?.map(({ digest }: { digest: string }) => digest) };
  };
  t.same(await prune({}), { status: 200, keep: 10, digests: [digestOf('o')] });
  t.equal(await work(), 1);
  t.same(await prune({ keep: 2, dryRun: true, app: 'web' }), {
    status: 200,
    keep: 2,
    digests: [digestOf(3), digestOf(2), digestOf(1)],
  });
  t.equal(await work(), 1, 'nothing was requested');
  t.same((await prune({ keep: 2 })).digests, [digestOf(3), digestOf(2), digestOf(1)]);
  t.same((await prune({ keep: 2 })).digests, [], 'they are being deleted');
  t.same(
    (await get()).items.map(({ status }: { status: string }) => status),
    ['deleting', 'stored', 'stored', 'deleting', 'deleting', 'deleting'],
  );
  for (const keep of [0, -1, 501, 1.5]) t.equal((await prune({ keep })).status, 400, `keep ${keep}`);
});

t.test('a build in progress and the newest failed deployment keep their images', async (t) => {
  const { app, call } = await world(t);
  await app.release(digestOf(1));
  await app.release(digestOf(2));
  const failed = await app.accept();
  await app.built(failed, digestOf(3));
  const prune = async () => {
    const { body } = await call('POST', `${images}/prune`, { body: { keep: 1, dryRun: true } });
    return body.images.map(({ digest }: { digest: string }) => digest);
  };
  t.same(await prune(), [digestOf(1)], 'rolling out');
  await app.succeed(await app.accept().then(async (id) => (await app.built(id, digestOf(4)), id)));
  t.same(await prune(), [digestOf(3), digestOf(2), digestOf(1)]);
});

t.test('nobody lists, shows or deletes images of another project or environment', async (t) => {
  const { pool, app, call } = await world(t);
  const image = await app.release(digestOf(1));
  await app.release(digestOf(2));
  for (const path of ['/api/v1/projects/blog/images']) {
    // The projects of the test have the same environment id, as no two real ones have.
    await pool.query(`UPDATE images SET environment_id = gen_random_uuid()`);
    t.same((await call('GET', path)).body.items, []);
    for (const reference of [image, digestOf(1)]) {
      for (const method of ['GET', 'DELETE']) {
        t.equal((await call(method, `${path}/${encodeURIComponent(reference)}`)).status, 404);
      }
    }
    t.same((await call('POST', `${path}/prune`, { body: { keep: 1 } })).body.images, []);
  }
});
