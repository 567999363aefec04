import t, { type Test } from 'tap';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { createObjectCopies } from '../../../runtime/kube/object-copies.ts';
import { testObject, testProject } from '../../functions/watch/rig.ts';
import { fakeClock, settle } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { watchedKube } from '../../support/watched-kube.ts';

/** An API server with two apps in one namespace and one in another, and copies of its objects. */
async function setUp(t: Test, options: { maxBytes?: number } = {}) {
  const fake = fakeKube();
  fake.seed(
    testProject('shop').object,
    testObject('App', 'api', 'shop-prod'),
    testObject('App', 'web', 'shop-prod'),
    testObject('App', 'other', 'blog-prod'),
  );
  const server = watchedKube(fake);
  const clock = fakeClock();
  const copies = createObjectCopies({ kube: server.kube, clock, log: silentLog, ...options });
  t.teardown(() => copies.stop());
  /** The requests to the API server that `work` causes. */
  const requests = async (work: () => Promise<unknown>) => {
    const before = fake.calls.length;
    await work();
    return fake.calls.slice(before).map(({ verb, kind }) => `${verb} ${kind}`);
  };
  const getApi = () => copies.get<App>(kinds.App, 'api', 'shop-prod');
  const listApps = () => copies.list<App>(kinds.App, { namespace: 'shop-prod' });
  const synced = async () => {
    copies.start();
    await copies.whenSynced();
    await settle();
  };
  const patchApi = (replicas: number) =>
    fake.mergePatch<App>(
      { apiVersion: kinds.App.apiVersion, kind: 'App', name: 'api', namespace: 'shop-prod' },
      { spec: { replicas } },
    );
  return { fake, server, clock, copies, requests, getApi, listApps, synced, patchApi };
}

t.test('before the first list, every read is a request', async (t) => {
  const { requests, getApi, listApps } = await setUp(t);
  t.same(await requests(getApi), ['get App']);
  t.same(await requests(listApps), ['list App']);
});

t.test('afterwards, the copy answers, and follows changes', async (t) => {
  const { fake, copies, requests, getApi, listApps, synced, patchApi } = await setUp(t);
  await synced();
  t.same(await requests(getApi), []);
  t.same(await requests(listApps), []);
  t.same(
    (await listApps()).items.map(({ metadata }) => metadata.name),
    ['api', 'web'],
    'of the namespace only',
  );
  t.same(await requests(() => copies.list(kinds.App)), [], 'in all namespaces');
  const { metadata } = await patchApi(3);
  await settle();
  t.match(await getApi(), { spec: { replicas: 3 } });
  t.equal((await listApps()).resourceVersion, metadata.resourceVersion, 'the version that the list is from');
  await fake.delete({ apiVersion: kinds.App.apiVersion, kind: 'App', name: 'web', namespace: 'shop-prod' });
  await settle();
  t.same(
    (await listApps()).items.map(({ metadata: { name } }) => name),
    ['api'],
  );
});

t.test('what a copy does not have is a request', async (t) => {
  const { copies, requests, synced } = await setUp(t);
  await synced();
  t.same(await requests(() => copies.get(kinds.App, 'missing', 'shop-prod')), ['get App'], 'it may be new');
  t.same(await requests(() => copies.get(kinds.Secret, 'x', 'shop-prod')), ['get Secret'], 'another kind');
  t.same(await requests(() => copies.get(kinds.BatchJob, 'x', 'shop-prod')), ['get Job'], 'of another group');
  const labelSelector = 'a=b';
  t.same(await requests(() => copies.list(kinds.App, { labelSelector })), ['list App'], 'with a selector');
});

t.test('no caller can change an object of the others', async (t) => {
  const { getApi, synced } = await setUp(t);
  await synced();
  const app = await getApi();
  t.throws(() => {
    if (app) app.spec.replicas = 9;
  }, TypeError);
  t.match(await getApi(), { spec: { replicas: 1 } });
});

t.test('while a watch is interrupted, every read is a request', async (t) => {
  const { server, clock, requests, getApi, listApps, synced, patchApi } = await setUp(t);
  await synced();
  server.cut();
  await settle();
  await patchApi(5);
  t.match(await getApi(), { spec: { replicas: 5 } }, 'nothing old is answered');
  t.same(await requests(listApps), ['list App']);
  server.accept();
  await clock.advance(10_000);
  await settle();
  t.same(await requests(getApi), [], 'the watch is back');
  t.match(await getApi(), { spec: { replicas: 5 } });
});

t.test('a silent watch is not believed for longer than 90 seconds', async (t) => {
  const { server, clock, requests, getApi, synced, patchApi } = await setUp(t);
  await synced();
  server.hold();
  await patchApi(5);
  await clock.advance(90_000);
  t.match(await getApi(), { spec: { replicas: 1 } }, 'the bound of how old an answer can be');
  await clock.advance(1);
  t.match(await getApi(), { spec: { replicas: 5 } });
  t.same(await requests(getApi), ['get App']);
});

t.test('beyond the limit of memory, objects are kept without their content', async (t) => {
  const { fake, copies, requests, getApi, listApps, synced } = await setUp(t, { maxBytes: 4_000 });
  await synced();
  fake.seed(...Array.from({ length: 20 }, (_, index) => testObject('App', `a${index}`, 'big-prod')));
  await settle();
  t.same(await requests(getApi), [], 'what was there before is still answered');
  t.same(await requests(listApps), []);
  t.same(await requests(() => copies.get(kinds.App, 'a19', 'big-prod')), ['get App']);
  t.match(await copies.get(kinds.App, 'a19', 'big-prod'), { spec: { image: String } }, 'with its content');
  t.same(await requests(() => copies.list(kinds.App, { namespace: 'big-prod' })), ['list App']);
  t.equal(copies.informer('App').list().length, 23, 'their changes are noticed');
  for (let index = 0; index < 20; index++) {
    await fake.delete({ apiVersion: kinds.App.apiVersion, kind: 'App', name: `a${index}`, namespace: 'big-prod' });
  }
  fake.seed(testObject('App', 'later', 'big-prod'));
  await settle();
  t.same(await requests(() => copies.get(kinds.App, 'later', 'big-prod')), [], 'the memory is free again');
});
