import t from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { createSecretStore, readSecrets } from '../../../runtime/workloads/secrets.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';

const namespace = 'shop-prod';

async function appOf(kube: FakeKube, name = 'api'): Promise<Stored<App>> {
  return kube.create<App>({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name, namespace, labels: workloadLabels({ kind: 'App', name, id: newId() }) },
    spec: { image: 'r/api:1', port: 8080, replicas: 1 },
  });
}

async function setUp() {
  const kube = fakeKube();
  const clock = fakeClock();
  const app = await appOf(kube);
  const store = createSecretStore({ kube, clock });
  const values = async (of = app) =>
    Object.fromEntries(
      (await readSecrets(kube, of)).secrets.map(({ name, value, previous }) => [name, [value, previous]]),
    );
  return { kube, clock, app, store, values };
}

t.test('a secret keeps its previous value, and can return to it', async (t) => {
  const { kube, clock, app, store, values } = await setUp();
  t.same(await values(), {});
  const first = clock.now();
  t.same(await store.set(app, 'A', 'one'), { name: 'A', value: 'one', updatedAt: first });
  await clock.advance(1000);
  await store.set(app, 'B', 'other\n${A}$$ ü');
  t.same(await store.set(app, 'A', 'two'), { name: 'A', value: 'two', previous: 'one', updatedAt: clock.now() });
  const writes = () => kube.calls.filter(({ verb }) => verb === 'replace').length;
  const before = writes();
  await store.set(app, 'A', 'two');
  t.equal(writes(), before, 'a repetition, as a client without an answer would send it');
  t.same(await values(), { A: ['two', 'one'], B: ['other\n${A}$$ ü', undefined] });
  await clock.advance(1000);
  t.match(await store.restore(app, 'A'), { value: 'one', previous: 'two', updatedAt: clock.now() });
  t.match(await store.restore(app, 'A'), { value: 'two', previous: 'one' });
  await t.rejects(store.restore(app, 'B'), { code: 'conflict' });
  await t.rejects(store.restore(app, 'C'), { code: 'not_found' });
  await store.remove(app, 'A');
  await t.rejects(store.remove(app, 'A'), { code: 'not_found' });
  t.same(await values(), { B: ['other\n${A}$$ ü', undefined] });
  await store.set(app, 'A', 'anew');
  t.same((await values())['A'], ['anew', undefined], "a removed secret's values stay deleted");
});

t.test('the Secret belongs to the app and is deleted with it; its salt stays', async (t) => {
  const { kube, app, store } = await setUp();
  await store.set(app, 'A', 'one');
  const [secret] = kube.all<Secret>(kinds.Secret);
  t.match(secret?.metadata, {
    name: 'app-api-secrets',
    namespace,
    labels: { 'app.kubernetes.io/managed-by': 'kipper', 'platform.svc/kind': 'App', app: 'api' },
    ownerReferences: [{ kind: 'App', name: 'api', uid: app.metadata.uid }],
  });
  const { salt } = await readSecrets(kube, app);
  t.match(salt, /^[0-9a-f]{32}$/);
  await store.set(app, 'B', 'two');
  await store.remove(app, 'A');
  t.equal((await readSecrets(kube, app)).salt, salt);
  await kube.delete({ ...kinds.App, namespace, name: 'api' });
  t.same(kube.all(kinds.Secret), []);
});

t.test('a Secret of another app is neither read nor changed', async (t) => {
  const { kube, app, store, values } = await setUp();
  await store.set(app, 'A', 'one');
  const [old] = kube.all<Secret>(kinds.Secret);
  const later = { ...app, metadata: { ...app.metadata, uid: 'another' } };
  t.same(await values(later), {}, 'an earlier app of the same name owned it');
  await t.rejects(store.set(later, 'A', 'x'), { code: 'not_ready' });
  if (!old) throw new Error('no Secret');
  await kube.replace<Secret>({ ...old, metadata: { ...old.metadata, labels: {} } });
  t.same(await values(), {});
  await t.rejects(store.set(app, 'A', 'x'), { code: 'already_exists', message: /"app-api-secrets" already exists/ });
  t.same(kube.all<Secret>(kinds.Secret)[0]?.data, old.data);
});

t.test('concurrent writes: every one is kept, and none replaces another', async (t) => {
  const { kube, app, store, values } = await setUp();
  await store.set(app, 'FIRST', 'x');
  // Four other writes happen between read and write.
  let writes = 4;
  kube.intercept = async ({ verb }) => {
    if (verb !== 'replace' || writes === 0) return;
    const name = `OTHER${writes--}`;
    const [live] = kube.all<Secret>(kinds.Secret);
    if (!live) throw new Error('no Secret');
    kube.seed({
      ...live,
      metadata: { ...live.metadata, resourceVersion: `r${writes}` },
      data: { ...live.data, [name]: 'eA==' },
    } as Secret);
  };
  await store.set(app, 'LAST', 'x');
  t.same(Object.keys(await values()).sort(), ['FIRST', 'LAST', 'OTHER1', 'OTHER2', 'OTHER3', 'OTHER4']);
});

t.test('limits: names, one value, all values with the previous ones, and their number', async (t) => {
  const { app, store, kube } = await setUp();
  for (const name of ['', 'a-b', 'a.previous', '.salt', 'PORT', 'SVC_MODE', 'SVC_TRIGGER', '9', 'a'.repeat(201)])
    await t.rejects(store.set(app, name, 'x'), { code: 'invalid_value' }, name);
  const secret = 's3cr3t';
  const tooLarge = await store.set(app, 'A', secret.repeat(11_000)).catch((error: Error) => error.message);
  t.equal(tooLarge, 'The value of "A" is larger than 64 KiB.');
  await t.rejects(store.set(app, 'A', 'a\0b'), { code: 'invalid_value' });
  t.same(kube.all(kinds.Secret), []);
  for (let index = 0; index < 4; index++) {
    await store.set(app, `BIG${index}`, String(index).repeat(60_000));
    await store.set(app, `BIG${index}`, 'x'.repeat(60_000));
  }
  await t.rejects(store.set(app, 'ONE_MORE', 'x'.repeat(60_000)), {
    message: /540\d\d\d bytes, which exceeds the limit of 512 KiB/,
  });
  for (let index = 4; index < 200; index++) await store.set(app, `N${index}`, 'x');
  await t.rejects(store.set(app, 'ONE_MORE', 'x'), { message: /The limit of 200 secrets is reached/ });
  t.equal((await store.set(app, 'N199', 'y')).value, 'y', 'existing ones can still change');
});

t.test('a secret that was added manually is a secret like any other', async (t) => {
  const { kube, app, store, values } = await setUp();
  await store.set(app, 'A', 'x');
  const [live] = kube.all<Secret>(kinds.Secret);
  if (!live) throw new Error('no Secret');
  await kube.replace<Secret>({ ...live, data: { ...live.data, HAND: 'bWFkZQ==', 'file.pem': 'eA==' } });
  t.same(await values(), { A: ['x', undefined], HAND: ['made', undefined] });
  t.equal((await readSecrets(kube, app)).secrets[1]?.updatedAt.getTime(), 0);
  await store.set(app, 'HAND', 'new');
  t.same((await values())['HAND'], ['new', 'made']);
  t.equal(kube.all<Secret>(kinds.Secret)[0]?.data?.['file.pem'], 'eA==');
});
